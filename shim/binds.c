/* Where the host memory of explicit binds comes from: the malloc family as this library serves
   it, so that large blocks are retained ones and count as such, and small ones are as cheap
   as any; and, switched off, whatever malloc serves without us. */
#include <stdlib.h>

#include "pool/bind.h"
#include "shim/recorder.h"

static int allocate(void *context, size_t bytes, uint64_t *address)
{
    (void)context;
    void *block = malloc(bytes);
    if (!block)
        return 1;
    *address = (uintptr_t)block;
    return 0;
}

static int release(void *context, uint64_t address)
{
    (void)context;
    free((void *)(uintptr_t)address);
    return 0;
}

static const struct pool_bind_source host = {
    .allocate = allocate,
    .release = release,
    .refusal = TIDEMARK_NO_HOST_MEMORY,
};

enum tidemark_result tidemark_set_open(const struct tidemark_settings *settings,
                                       struct tidemark_set **set)
{
    (void)shim_settings(); /* a program may come here before it allocates */
    return pool_set_open(settings, &host, shim_recorder_observer(), set);
}
