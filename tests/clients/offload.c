/* An OpenMP program that uses a device: it holds device and page-locked memory, copies
   through both, and launches one kernel. What it prints does not depend on what the
   kernel computes, only on the copies, so that a driver that skips kernels gives the
   same. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORD_COUNT = 1 << 16, ROUND_COUNT = 8 };

extern void *llvm_omp_target_alloc_host(size_t bytes, int device);

/* Fills `words` from a seed, sends them to the device and fetches them into `back`. */
static uint64_t there_and_back(uint64_t *words, uint64_t *back, uint64_t seed, int device)
{
    size_t bytes = WORD_COUNT * sizeof *words;
    uint64_t sum = 0;
    int host = omp_get_initial_device();
    void *remote = omp_target_alloc(bytes, device);
    if (remote == NULL)
        return 0;
    for (size_t i = 0; i < WORD_COUNT; i++)
        words[i] = (seed + i) * 0x9e3779b97f4a7c15u;
    if (omp_target_memcpy(remote, words, bytes, 0, 0, device, host) != 0 ||
        omp_target_memcpy(back, remote, bytes, 0, 0, host, device) != 0)
        return 0;
    omp_target_free(remote, device);
    for (size_t i = 0; i < WORD_COUNT; i++)
        sum = (sum ^ back[i]) * 0x100000001b3u;
    return sum;
}

int main(void)
{
    int host = omp_get_initial_device();
    int device = omp_get_num_devices() > 0 ? omp_get_default_device() : host;
    size_t bytes = WORD_COUNT * sizeof(uint64_t);
    uint64_t *pinned = llvm_omp_target_alloc_host(bytes, device);
    uint64_t *back = malloc(bytes);
    if (pinned == NULL || back == NULL)
        return EXIT_FAILURE;

    int on_host = 1;
#pragma omp target map(tofrom : on_host)
    on_host = omp_is_initial_device();
    (void)on_host;

    for (uint64_t round = 0; round < ROUND_COUNT; round++)
        printf("%016llx\n",
               (unsigned long long)there_and_back(pinned, back, round, device));
    free(back);
    omp_target_free(pinned, device);
    return EXIT_SUCCESS;
}
