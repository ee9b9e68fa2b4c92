/* What a program does with the driver that decides whether memory which it frees may be handed
   out again: it waits for a context, captures a stream, lets others reach an allocation, or
   breaks a context. Seen and remembered; no result is changed. Asks the driver which context a
   thread or a stream belongs to, and for the start of an allocation, and nothing else.

   All of it may be called from any thread at any time. */
#ifndef SHIM_DRIVER_OBSERVE_H
#define SHIM_DRIVER_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/stats.h"
#include "shim/driver.h"

enum {
    SHIM_OBSERVE_CONTEXTS_MOST =
        256, /* live at once; of further ones: see each function */
    SHIM_OBSERVE_CAPTURES_MOST = 64,
    SHIM_OBSERVE_EXPORTS_MOST = 512,
};

/* --- Synchronisations --- */

/* A number above every earlier one. Whoever frees takes one before it does anything else, and
   after the work that uses the memory was submitted. */
uint64_t shim_observe_stamp(void);

/* The stamp at which the latest synchronisation of the whole context began that has ended
   well; 0: none. Work that was submitted to the context before a stamp below it is done.
   Without a place for the context always 0. */
uint64_t shim_observe_synchronised(CUcontext context);

/* --- Captures --- */

/* Whether a stream of this process is being captured, or is about to be. Then a driver call of
   ours could break the capture, and what the program frees may be part of a graph.

   A capture may begin right after the question. A thread that then calls the driver harms it
   only if its own capture mode is not relaxed: cuThreadExchangeStreamCaptureMode. */
bool shim_observe_capturing(void);

/* Around a call of ours that would spoil a capture in whatever mode this thread is: events over a
   context, waits for one (cuda.h of CUDA 13.0 on cuCtxRecordEvent and cuCtxSynchronize). False
   while a stream is captured; else no capture begins before the end, so the call must be short. */
bool shim_observe_begin_own(void);
void shim_observe_end_own(void);

/* In a child of fork, where no other thread is in the middle of such a call. */
void shim_observe_forget_own(void);

/* --- Exports --- */

/* Whether others can reach the allocation that starts here, since it was exported (by handle
   or token) or marked for synchronous copies, and forgets it: an exported allocation is given
   back to the driver, and the next one at this address is another. True for every address once
   there were too many to remember. */
bool shim_observe_take_exported(CUdeviceptr address);

/* --- Broken contexts --- */

/* Whether a call in this context has returned an error after which, by CUDA's documentation,
   every later call returns it, too. */
bool shim_observe_sticky(CUcontext context);

/* Every hook hands the driver's result on through this. */
void shim_observe_failure(const struct shim_driver *driver, CUresult result);

static inline CUresult shim_observe_result(const struct shim_driver *driver,
                                           CUresult result)
{
    /* The least of those errors. */
    if (__builtin_expect(result >= CUDA_ERROR_ECC_UNCORRECTABLE, 0))
        shim_observe_failure(driver, result);
    return result;
}

/* --- The end of a context --- */

/* The driver has ended it, and its handle may come again, for another context; `stamp` is from
   before the driver was asked to. */
void shim_observe_context_ended(CUcontext context, uint64_t stamp);

void shim_observe_report(struct pool_stats *stats);

/* Around a fork. */
void shim_observe_fork_prepare(void);
void shim_observe_fork_done(void);

/* --- For the hooks, in driver_observe_*.c --- */

/* The context that is current to the calling thread; NULL: none, or it cannot be told. */
CUcontext shim_observe_current(const struct shim_driver *driver);

void shim_observe_sync_ended(CUcontext context, uint64_t stamp);

void shim_capture_context_ended(CUcontext context, uint64_t stamp);
void shim_capture_report(struct pool_stats *stats);
void shim_capture_fork_prepare(void);
void shim_capture_fork_done(void);

void shim_export_report(struct pool_stats *stats);
void shim_export_fork_prepare(void);
void shim_export_fork_done(void);

#endif
