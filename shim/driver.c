#include "shim/driver.h"

#include <link.h>
#include <pthread.h>

#include "shim/elf.h"
#include "shim/libc.h"
#include "shim/loader.h"
#include "shim/verbose.h"

/* Memory order
   [A] A generation is filled under the lock and published by a release store of
   `current`; hooks acquire it and may then read everything in it. A generation is never
   changed or reused after that: a driver that was reopened elsewhere gets a new one. [B]
   pinned is a flag about the past: it only saves looking again. */

enum {
    GENERATIONS = 8, /* how often a program may close and reopen its driver before a dlsym
                        has pinned it; the last one stays in use */
};

static struct shim_driver generations[GENERATIONS];
static unsigned generation_count; /* under the lock */
static _Atomic(struct shim_driver *) current;
static _Atomic bool pinned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct shim_hook shim_hooks[SHIM_HOOK_COUNT] = {
#define HOOK(symbol, base, since, flags, parameters)                                     \
    {#symbol, #base, since, flags, (shim_function)symbol},
#include "shim/driver_hooks.def"
};

/* As bytes; below 0, 0 or above it. */
static int order(const char *a, const char *b)
{
    for (; *a && *a == *b; a++)
        b++;
    return (unsigned char)*a - (unsigned char)*b;
}

/* The first row whose symbol does not come before `name`. */
static int first_row(const char *name)
{
    int low = 0, high = SHIM_HOOK_COUNT;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (order(shim_hooks[middle].symbol, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int shim_hook_named(const char *symbol)
{
    if (symbol[0] != 'c' || symbol[1] != 'u')
        return -1;
    int row = first_row(symbol);
    return row < SHIM_HOOK_COUNT && shim_elf_same(shim_hooks[row].symbol, symbol) ? row
                                                                                  : -1;
}

static bool starts_with(const char *name, const char *start)
{
    for (; *start && *name == *start; start++)
        name++;
    return !*start;
}

/* A form's symbol starts with its base, so that all forms lie in one stretch of the table,
   among those of bases that start with this one: cuMemAlloc, cuMemAllocHost. */
static int form_from(const char *base, int row)
{
    for (; row < SHIM_HOOK_COUNT && starts_with(shim_hooks[row].symbol, base); row++)
        if (shim_elf_same(shim_hooks[row].base, base))
            return row;
    return -1;
}

int shim_hook_first_form(const char *base)
{
    return form_from(base, first_row(base));
}

int shim_hook_next_form(const char *base, int row)
{
    return form_from(base, row + 1);
}

struct found {
    struct shim_elf_object object;
    const char *path;
    const void *code; /* in whose object is looked for */
};

static bool is_driver(const struct shim_elf_object *object)
{
    const char *soname = object->dynamic ? shim_elf_soname(object) : NULL;
    return soname && shim_elf_same(soname, "libcuda.so.1");
}

static int find_driver(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct found *found = context;
    found->object = shim_elf_range(info);
    found->path = info->dlpi_name;
    return is_driver(&found->object);
}

static void copy_path(char *to, size_t capacity, const char *from)
{
    size_t length = 0;
    for (; from[length] && length < capacity - 1; length++)
        to[length] = from[length];
    to[length] = '\0';
}

static void fill(struct shim_driver *driver, const struct found *found)
{
#define HOOK(symbol, base, since, flags, parameters)                                     \
    driver->call.symbol =                                                                \
        (CUresult(*) parameters)shim_elf_symbol(&found->object, #symbol);                \
    driver->real[SHIM_HOOK_##symbol] = (shim_function)driver->call.symbol;
#define CALL(symbol, parameters)                                                         \
    driver->call.symbol =                                                                \
        (CUresult(*) parameters)shim_elf_symbol(&found->object, #symbol);
#include "shim/driver_hooks.def"
    driver->base = found->object.base;
    driver->start = found->object.start;
    driver->end = found->object.end;
    copy_path(driver->path, sizeof(driver->path), found->path);
}

/* Looks where the driver is now and returns the generation for it. */
static struct shim_driver *look(void)
{
    struct found found = {.path = ""};
    if (!shim_libc.dl_iterate_phdr || shim_libc.dl_iterate_phdr(find_driver, &found) == 0)
        return NULL;
    bool fresh = false;
    pthread_mutex_lock(&lock);
    struct shim_driver *driver =
        atomic_load_explicit(&current, memory_order_relaxed); /* A */
    if ((!driver || driver->base != found.object.base) &&
        generation_count < GENERATIONS) {
        driver = &generations[generation_count++];
        fill(driver, &found);
        atomic_store_explicit(&current, driver, memory_order_release); /* A */
        fresh = true;
    }
    pthread_mutex_unlock(&lock);
    if (fresh)
        shim_verbose_driver(driver);
    return driver;
}

struct shim_driver *shim_driver_find(void)
{
    struct shim_driver *driver =
        atomic_load_explicit(&current, memory_order_acquire); /* A */
    return __builtin_expect(driver != NULL, 1) ? driver : look();
}

bool shim_driver_is_met(void)
{
    return atomic_load_explicit(&current, memory_order_relaxed) != NULL; /* A */
}

struct shim_driver *shim_driver_pin(void)
{
    if (atomic_load_explicit(&pinned, memory_order_relaxed)) /* B */
        return shim_driver_find();
    struct shim_driver *driver = look();
    if (driver && shim_loader_keep(driver->path))
        atomic_store_explicit(&pinned, true, memory_order_relaxed); /* B */
    return driver;
}

static int find_owner(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct found *found = context;
    found->object = shim_elf_range(info);
    return shim_elf_contains(&found->object, found->code);
}

bool shim_driver_is_other(const struct shim_driver *driver, const void *code)
{
    struct found owner = {.code = code};
    return shim_libc.dl_iterate_phdr(find_owner, &owner) != 0 &&
           is_driver(&owner.object) && owner.object.base != driver->base;
}

void shim_driver_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

void shim_driver_fork_done(void)
{
    pthread_mutex_unlock(&lock);
}
