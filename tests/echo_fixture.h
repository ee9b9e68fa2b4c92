/* A program under the library before a driver that does what a test tells it. */
#ifndef TESTS_ECHO_FIXTURE_H
#define TESTS_ECHO_FIXTURE_H

#include <dlfcn.h>
#include <string.h>

#include "tests/drivers/echo.h"
#include "tests/suite.h"

typedef CUresult six_words(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                           uintptr_t);

static void *driver;
static echo_row_function *row_of;

static inline void setup(void)
{
    driver = dlopen(DRIVER, RTLD_NOW);
    ck_assert_msg(driver != NULL, "%s", dlerror());
    void *found = dlsym(driver, "echo_row");
    memcpy(&row_of, &found, sizeof row_of);
}

static inline six_words *hook_of(const char *symbol)
{
    six_words *function;
    void *found = dlsym(driver, symbol);
    void (*exported)(void) = row_of(symbol)->function;
    ck_assert_msg(memcmp(&found, &exported, sizeof found) != 0, "%s is not hooked",
                  symbol);
    memcpy(&function, &found, sizeof function);
    return function;
}

static inline void answer(const char *symbol, unsigned argument, unsigned bytes,
                          uint64_t value)
{
    row_of(symbol)->writes[0] = (struct echo_write){argument, bytes, value};
}

/* A device of 1,000 bytes, current to every thread. */
static inline void answer_device(void)
{
    answer("cuCtxGetDevice", 0, sizeof(CUdevice), 0);
    answer("cuCtxGetCurrent", 0, sizeof(CUcontext), 0xc0);
    answer("cuDeviceTotalMem_v2", 0, sizeof(size_t), 1000);
    row_of("cuMemGetInfo_v2")->writes[0] = (struct echo_write){0, sizeof(size_t), 1000};
    row_of("cuMemGetInfo_v2")->writes[1] = (struct echo_write){1, sizeof(size_t), 1000};
}

static inline size_t free_bytes(void)
{
    size_t bytes[2] = {0, 0};
    six_words *info = hook_of("cuMemGetInfo_v2");
    ck_assert_int_eq(info((uintptr_t)&bytes[0], (uintptr_t)&bytes[1], 0, 0, 0, 0),
                     CUDA_SUCCESS);
    return bytes[0];
}

#endif
