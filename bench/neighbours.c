/* What a page fault costs while another thread of the process maps and unmaps: both want the
   lock of the address space. Threads touch fresh pages, one after the other; with
   NEIGHBOURS_CHURN=1 one more allocates and frees blocks of 64 MiB meanwhile, which a plain
   malloc maps and unmaps each time, and a malloc that keeps them does not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    TOUCHERS = 8,
    PAGE = 4096,
    PAGES = 8192, /* of each thread */
    CHURN_BYTES = 64 << 20,
    PAUSE_NS = 50000, /* between two of its blocks */
};

static pthread_barrier_t start;
static _Atomic int touchers_left = TOUCHERS;
static _Atomic unsigned long churned;
static double touch_ns[TOUCHERS]; /* each by itself */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *touch(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;
    volatile char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    pthread_barrier_wait(&start);
    double before = now_ns();
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE] = 1;
    touch_ns[index] = now_ns() - before;
    atomic_fetch_sub_explicit(&touchers_left, 1, memory_order_relaxed);
    return NULL;
}

static void *churn(void *argument)
{
    /* Or it would differ by how much of a processor it takes. */
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)argument;
    pthread_barrier_wait(&start);
    while (atomic_load_explicit(&touchers_left, memory_order_relaxed) > 0) {
        char *volatile block = malloc(CHURN_BYTES);
        block[CHURN_BYTES / 2] = 1;
        free(block);
        nanosleep(&pause, NULL);
        atomic_fetch_add_explicit(&churned, 1, memory_order_relaxed);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    const char *wanted = getenv("NEIGHBOURS_CHURN");
    int churns = wanted != NULL && strcmp(wanted, "1") == 0;
    pthread_t threads[TOUCHERS + 1];
    double total_ns = 0;
    if (count > 1) {
        fprintf(
            stderr,
            "usage: [NEIGHBOURS_CHURN=1] %s\n"
            "Prints the nanoseconds of wall time that a page fault takes in %d threads "
            "at once.\n",
            arguments[0], TOUCHERS);
        return strcmp(arguments[1], "--help") == 0 ? EXIT_SUCCESS : 2;
    }
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    pthread_barrier_init(&start, NULL, TOUCHERS + (churns ? 1 : 0));
    for (uintptr_t i = 0; i < TOUCHERS; i++)
        if (pthread_create(&threads[i], NULL, touch, (void *)i) != 0)
            abort();
    if (churns && pthread_create(&threads[TOUCHERS], NULL, churn, NULL) != 0)
        abort();
    for (int i = 0; i < TOUCHERS + (churns ? 1 : 0); i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < TOUCHERS; i++)
        total_ns += touch_ns[i];
    printf("%.1f\n", total_ns / ((double)TOUCHERS * PAGES));
    if (churns)
        fprintf(stderr, "churned %lu times\n", churned);
    return EXIT_SUCCESS;
}
