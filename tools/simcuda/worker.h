/* The threads that do the work of queues. */
#ifndef SIMCUDA_WORKER_H
#define SIMCUDA_WORKER_H

#include <stdbool.h>

#include "tools/simcuda/queue.h"

/* Starts the queue's thread if it has none; false when there can be none. */
bool sim_worker_start(struct sim_queue *queue);

#endif
