/* A library whose constructor waits for a thread; the thread's first act is a call of the driver,
   to which this library is linked. A lock of the loader that the call took would never be free. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

int cuInit(unsigned flags);
int cuMemGetInfo_v2(size_t *free, size_t *total);
int joins_result(void);

static int result;

static void *act(void *unused)
{
    size_t total;
    result = cuMemGetInfo_v2(NULL, &total);
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, act, NULL);
    pthread_join(thread, NULL);
}

int joins_result(void)
{
    return result;
}
