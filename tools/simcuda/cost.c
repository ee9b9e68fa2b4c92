#include "tools/simcuda/cost.h"

#include <time.h>

#include "tools/simcuda/knobs.h"

/* A sleep may end this much late; the end of a wait is spent looking at the clock. */
enum { SLEEP_SLACK_NS = 200000 };

static _Thread_local uint64_t owed_ns;

void sim_cost_owe_us(uint64_t microseconds)
{
    owed_ns += microseconds * 1000;
}

/* 1,000 microseconds for 1,000,000 bytes are 1 ns a byte. */
static uint64_t pin_ns(uint64_t bytes)
{
    return bytes / 1000 * sim_knobs->pin_us_per_mb +
           bytes % 1000 * sim_knobs->pin_us_per_mb / 1000;
}

void sim_cost_owe_pin(uint64_t bytes)
{
    owed_ns += pin_ns(bytes);
}

/* Measured on real drivers: 0.9 ms for a MB to lock, 0.2 ms to unlock. */
void sim_cost_owe_unpin(uint64_t bytes)
{
    owed_ns += pin_ns(bytes) / 9 * 2;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void sim_cost_pay(void)
{
    if (owed_ns == 0)
        return;
    uint64_t end_ns = now_ns() + owed_ns;
    if (owed_ns > SLEEP_SLACK_NS) {
        uint64_t nap_ns = owed_ns - SLEEP_SLACK_NS;
        struct timespec nap = {.tv_sec = (time_t)(nap_ns / 1000000000),
                               .tv_nsec = (long)(nap_ns % 1000000000)};
        /* A signal ends the nap early, and the clock has the last word. */
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
    owed_ns = 0;
    while (now_ns() < end_ns)
        continue;
}
