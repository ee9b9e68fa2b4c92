/* shim/driver_abi.h and shim/driver_hooks.def against the toolkit's cuda.h. Ours and theirs
   cannot be included together, so this file is compiled twice, once with each (TOOLKIT), into
   a table of every size, offset and constant; the build with the toolkit compares the tables,
   and holds each prototype to its declaration while it is compiled. It also reads our header,
   so that no constant of it is left out here. */
#ifdef TOOLKIT
/* Declares the first forms, too, and renames nothing. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>
#define ABI_FACTS abi_facts_of_toolkit
#else
#include "shim/driver_abi.h"
#define ABI_FACTS abi_facts_of_ours
#endif

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct abi_fact {
    const char *name;
    unsigned long long value;
};

extern const struct abi_fact abi_facts_of_ours[];
extern const struct abi_fact abi_facts_of_toolkit[];

#define SIZE(type)           {"sizeof " #type, sizeof(type)},
#define OFFSET(type, member) {#type "." #member, offsetof(type, member)},
#define CONSTANT(name)       {#name, (unsigned long long)(name)},

/* The simulator's own tables carry the number beside the name. */
#ifdef TOOLKIT
#define NUMBERED(name, number) CONSTANT(name)
#else
#define NUMBERED(name, number) {#name, number},
#endif
#define ERROR(name, number, text)      NUMBERED(name, number)
#define ATTRIBUTE(name, number, value) NUMBERED(name, number)

const struct abi_fact ABI_FACTS[] = {
#include "tests/driver_abi.def"
#include "tools/simcuda/attributes.def"
#include "tools/simcuda/errors.def"
    {NULL, 0},
};

#ifdef TOOLKIT

/* The symbol has this signature, and so has what cudaTypedefs.h says a look-up of this base,
   version and stream kind answers: PFN_cuMemAlloc_v3020, PFN_cuMemFreeAsync_v11020_ptsz. */
#define LOOKED_UP_0(base, since) PFN_##base##_v##since
#define LOOKED_UP_2(base, since) PFN_##base##_v##since##_ptsz
#define HOOK(symbol, base, since, flags, parameters)                                     \
    CALL(symbol, parameters)                                                             \
    static_assert(__builtin_types_compatible_p(LOOKED_UP_##flags(base, since),           \
                                               CUresult(*) parameters),                  \
                  #base " of version " #since);
#define CALL(symbol, parameters)                                                         \
    static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult parameters), \
                  #symbol);
#include "shim/driver_hooks.def"

static int failure_count;

static void compare(void)
{
    size_t i = 0;
    for (; abi_facts_of_ours[i].name != NULL; i++) {
        unsigned long long ours = abi_facts_of_ours[i].value;
        unsigned long long theirs = abi_facts_of_toolkit[i].value;
        if (ours == theirs)
            continue;
        failure_count++;
        printf("FAILED: %s is %llu, in cuda.h %llu\n", abi_facts_of_ours[i].name, ours,
               theirs);
    }
    printf("%zu facts compared\n", i);
}

static int is_compared(const char *name)
{
    for (const struct abi_fact *fact = abi_facts_of_ours; fact->name != NULL; fact++)
        if (strcmp(fact->name, name) == 0)
            return 1;
    return 0;
}

/* Every "CU... =" in our header is an enumerator, and must have its row. */
static void find_forgotten(const char *path)
{
    char line[256];
    char name[128];
    int count = 0;
    FILE *header = fopen(path, "r");
    if (header == NULL) {
        printf("FAILED: cannot read %s\n", path);
        failure_count++;
        return;
    }
    while (fgets(line, sizeof line, header) != NULL) {
        if (sscanf(line, " %127[A-Z0-9_a-z] =", name) != 1 ||
            strstr(line, " = ") == NULL || strncmp(name, "CU", 2) != 0)
            continue;
        count++;
        if (!is_compared(name)) {
            failure_count++;
            printf("FAILED: %s has no row in driver_abi.def\n", name);
        }
    }
    fclose(header);
    if (count == 0)
        failure_count++;
    printf("%d constants in the header\n", count);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    compare();
    find_forgotten(argv[1]);
    return failure_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
