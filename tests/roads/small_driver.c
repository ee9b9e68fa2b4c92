/* A driver of a dozen functions that looks itself up, as the real one may: in its constructor, in
   cuInit and whenever it allocates, by every road. Where it does not meet itself it says so on
   stderr. Options: INDIRECT makes cuMemAlloc_v2 an indirect function. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { TOTAL = 1 << 30 };

typedef int look_up_2(const char *, void **, int, uint64_t, int *);

static uint64_t next_address = 1 << 20;
static uint64_t used;

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
EXPORT int cuCtxDestroy_v2(void *context);
EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
EXPORT int cuMemFree_v2(uint64_t address);
EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total);
EXPORT int cuGetProcAddress(const char *name, void **function, int version,
                            uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version,
                               uint64_t flags, int *status);

static int allocate(uint64_t *address, size_t bytes);

static const struct row {
    const char *symbol;
    const char *base;
    int since;
    void *function;
} rows[] = {
    {"cuInit", "cuInit", 2000, cuInit},
    {"cuDriverGetVersion", "cuDriverGetVersion", 2020, cuDriverGetVersion},
    {"cuDeviceGet", "cuDeviceGet", 2000, cuDeviceGet},
    {"cuDeviceTotalMem_v2", "cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2},
    {"cuCtxCreate_v2", "cuCtxCreate", 3020, cuCtxCreate_v2},
    {"cuCtxDestroy_v2", "cuCtxDestroy", 4000, cuCtxDestroy_v2},
    {"cuMemAlloc_v2", "cuMemAlloc", 3020, allocate},
    {"cuMemFree_v2", "cuMemFree", 3020, cuMemFree_v2},
    {"cuMemGetInfo_v2", "cuMemGetInfo", 3020, cuMemGetInfo_v2},
    {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, cuGetProcAddress_v2},
};

static void complain(const char *where, const char *name, const char *road)
{
    fprintf(stderr, "driver, in %s: %s by %s is somebody else's\n", where, name, road);
}

static void *owner(const void *code)
{
    Dl_info info;
    return code != NULL && dladdr(code, &info) != 0 ? info.dli_fbase : NULL;
}

/* By its own handle, by the scope, and by its own look-up under every address it may have. */
static void look_at_myself(const char *where)
{
    Dl_info me;
    dladdr(rows, &me);
    void *self = dlopen(me.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = rows[i].symbol;
        void *found = NULL;
        if (self != NULL && owner(dlsym(self, name)) != me.dli_fbase)
            complain(where, name, "dlsym of itself");
        found = dlsym(RTLD_DEFAULT, name);
        if (found != NULL && owner(found) != me.dli_fbase)
            complain(where, name, "dlsym of the scope");
        cuGetProcAddress_v2(rows[i].base, &found, 13000, 0, NULL);
        if (owner(found) != me.dli_fbase)
            complain(where, name, "its look-up");
        void *entry = self ? dlsym(self, "cuGetProcAddress_v2") : NULL;
        look_up_2 *look_up;
        memcpy(&look_up, &entry, sizeof entry);
        if (entry != NULL && look_up(rows[i].base, &found, 13000, 0, NULL) == 0 &&
            owner(found) != me.dli_fbase)
            complain(where, name, "a look-up that it looked up");
    }
    (void)dlsym(self, "cuGetExportTable");
    if (self != NULL)
        dlclose(self);
}

__attribute__((constructor)) static void start(void)
{
    look_at_myself("its constructor");
}

int cuInit(unsigned flags)
{
    look_at_myself("cuInit");
    return flags == 0 ? 0 : 1;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? 0 : 101;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = TOTAL;
    return device == 0 ? 0 : 101;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    *context = &used;
    return flags == 0 && device == 0 ? 0 : 1;
}

int cuCtxDestroy_v2(void *context)
{
    return context == &used ? 0 : 201;
}

int cuCtxGetCurrent(void **context)
{
    *context = &used;
    return 0;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

static int allocate(uint64_t *address, size_t bytes)
{
    look_at_myself("an allocation");
    if (used + bytes > TOTAL)
        return 2;
    used += bytes;
    *address = next_address;
    next_address += bytes;
    return 0;
}

#ifdef INDIRECT
static int (*choose(void))(uint64_t *, size_t)
{
    return allocate;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) __attribute__((ifunc("choose")));
#else
int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    return allocate(address, bytes);
}
#endif

int cuMemFree_v2(uint64_t address)
{
    return address >= 1 << 20 && address < next_address ? 0 : 1;
}

int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    if (free != NULL)
        *free = TOTAL - used;
    if (total != NULL)
        *total = TOTAL;
    return 0;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status)
{
    *function = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].base, name) == 0 && rows[i].since <= version && flags == 0)
            *function = rows[i].function;
    if (status != NULL)
        *status = *function != NULL ? 0 : 1;
    return 0;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    cuGetProcAddress_v2(name, function, version, flags, NULL);
    return *function != NULL ? 0 : 500;
}
