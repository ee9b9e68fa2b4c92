/* Threads that open the driver, look functions up by every road, call one and close it, all at once:

     race THREADS ROUNDS

   prints how many rounds went wrong: a road that led nowhere, or elsewhere than another. */
#include "shim/driver_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 64 };

typedef CUresult look_up_2(const char *, void **, int, cuuint64_t, int *);
typedef CUresult ask_memory(size_t *, size_t *);

static atomic_int bad_count;
static int round_count;
static pthread_barrier_t start;

static bool go_round(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *by_symbol = dlsym(driver, "cuMemGetInfo_v2");
    void *again = dlsym(driver, "cuMemGetInfo_v2");
    void *found = dlsym(driver, "cuGetProcAddress_v2");
    void *by_name = NULL;
    size_t total;
    look_up_2 *look_up;
    ask_memory *ask;
    bool is_good = driver && by_symbol && found && by_symbol == again;
    if (is_good) {
        memcpy(&look_up, &found, sizeof found);
        memcpy(&ask, &by_symbol, sizeof by_symbol);
        is_good = look_up("cuMemGetInfo", &by_name, 13000, 0, NULL) == CUDA_SUCCESS &&
                  by_name == by_symbol && ask(NULL, &total) == CUDA_ERROR_NOT_INITIALIZED;
    }
    if (driver)
        dlclose(driver);
    return is_good;
}

static void *run(void *unused)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < round_count; i++)
        bad_count += !go_round();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MOST];
    int thread_count = argc == 3 ? atoi(argv[1]) : 0;
    if (thread_count < 1 || thread_count > THREADS_MOST)
        return 2;
    round_count = atoi(argv[2]);
    pthread_barrier_init(&start, NULL, (unsigned)thread_count);
    for (int i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    printf("bad %d\n", bad_count);
    return 0;
}
