/* What calls take on a real driver. A call's work is done at once, under the entry lock;
   the time that it should have taken is owed by the calling thread, and paid when the lock
   is back, so that threads pay side by side. */
#ifndef SIMCUDA_COST_H
#define SIMCUDA_COST_H

#include <stdint.h>

/* Adds to what the calling thread owes. */
void sim_cost_owe_us(uint64_t microseconds);

/* Of page-locking and unlocking so many bytes, at SIMCUDA_PIN_US_PER_MB. */
void sim_cost_owe_pin(uint64_t bytes);
void sim_cost_owe_unpin(uint64_t bytes);

/* Lets the time pass that the calling thread owes. Not under the entry lock. */
void sim_cost_pay(void);

#endif
