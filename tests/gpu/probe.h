/* A program that asks a driver what this project relies on: which functions it hands out, what
   it answers at the edges, what memory and time its calls take. It finds the driver as programs
   do, by dlopen, so that the environment decides which one that is and whether the library stands
   before it. Each line is a kind and its fields, with tabs between them; what it says of one
   driver is the same in each run, but for times and for what is free on a device. */
#ifndef TESTS_GPU_PROBE_H
#define TESTS_GPU_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver_abi.h"

enum {
    PROBE_FAILED = 1,  /* a call that had to succeed did not */
    PROBE_TROUBLE = 2, /* no driver, no device, or no such command */
};

/* CALL(symbol, parameters) */
/* clang-format off */
#define PROBE_CALLS(CALL)                                                                \
    CALL(cuInit, (unsigned flags))                                                       \
    CALL(cuDriverGetVersion, (int *version))                                             \
    CALL(cuGetProcAddress,                                                               \
         (const char *symbol, void **function, int version, cuuint64_t flags))           \
    CALL(cuGetProcAddress_v2,                                                            \
         (const char *symbol, void **function, int version, cuuint64_t flags,            \
          CUdriverProcAddressQueryResult *status))                                       \
    CALL(cuDeviceGetCount, (int *count))                                                 \
    CALL(cuDeviceGetName, (char *name, int bytes, CUdevice device))                      \
    CALL(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                          \
    CALL(cuDeviceGetAttribute,                                                           \
         (int *value, CUdevice_attribute attribute, CUdevice device))                    \
    CALL(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))                \
    CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                \
    CALL(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device))               \
    CALL(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device))          \
    CALL(cuCtxDestroy_v2, (CUcontext context))                                           \
    CALL(cuCtxSetCurrent, (CUcontext context))                                           \
    CALL(cuCtxPopCurrent_v2, (CUcontext *context))                                       \
    CALL(cuCtxSynchronize, (void))                                                       \
    CALL(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                     \
    CALL(cuMemAlloc_v2, (CUdeviceptr *address, size_t bytes))                            \
    CALL(cuMemAllocPitch_v2,                                                             \
         (CUdeviceptr *address, size_t *pitch, size_t width, size_t height,              \
          unsigned element_bytes))                                                       \
    CALL(cuMemAllocManaged, (CUdeviceptr *address, size_t bytes, unsigned flags))        \
    CALL(cuMemFree_v2, (CUdeviceptr address))                                            \
    CALL(cuMemAllocHost_v2, (void **address, size_t bytes))                              \
    CALL(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                 \
    CALL(cuMemFreeHost, (void *address))                                                 \
    CALL(cuMemHostRegister_v2, (void *address, size_t bytes, unsigned flags))            \
    CALL(cuMemHostUnregister, (void *address))                                           \
    CALL(cuMemAllocAsync, (CUdeviceptr *address, size_t bytes, CUstream stream))         \
    CALL(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                         \
    CALL(cuMemPoolGetAttribute,                                                          \
         (CUmemoryPool pool, CUmemPool_attribute attribute, void *value))                \
    CALL(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep_bytes))                        \
    CALL(cuMemGetAddressRange_v2,                                                        \
         (CUdeviceptr *start, size_t *bytes, CUdeviceptr address))                       \
    CALL(cuPointerGetAttribute,                                                          \
         (void *value, CUpointer_attribute attribute, CUdeviceptr address))              \
    CALL(cuPointerGetAttributes,                                                         \
         (unsigned count, CUpointer_attribute *attributes, void **values,                \
          CUdeviceptr address))                                                          \
    CALL(cuPointerSetAttribute,                                                          \
         (const void *value, CUpointer_attribute attribute, CUdeviceptr address))        \
    CALL(cuIpcGetMemHandle, (CUipcMemHandle *handle, CUdeviceptr address))
/* clang-format on */

/* What dlsym hands out; NULL for what this driver lacks. */
struct probe_driver {
    void *library; /* of dlopen */
#define FIELD(symbol, parameters) CUresult(*symbol) parameters;
    PROBE_CALLS(FIELD)
#undef FIELD
};

/* Written by probe.c before anything else runs. */
extern struct probe_driver driver;

/* Initialises the driver and makes a context on device 0 current; ends the program where that
   is not possible. */
void probe_open(void);

/* Ends the program, with one line on standard error. */
_Noreturn void probe_fail(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether device 0 has what the attribute asks for. */
bool probe_has(CUdevice_attribute attribute);

/* The commands. */
void probe_device(void);
void probe_lookups(void);
void probe_memory(void);
void probe_times(void);

/* Every question but those that may end the process; their names, one a line; one of them. */
void probe_answers(void);
void probe_apart(void);
bool probe_answer(const char *name);

#endif
