/* Tidemark's own functions, for programs that are written for it. Programs that are not need
   none of this: the library serves them as it is.

   Link with -ltidemark (pkg-config tidemark, or find_package(tidemark) in CMake), or look the
   functions up in a process in which the library is preloaded; there, a weak declaration is
   NULL without it. The library is linked with -z nodlopen: it must be there when the program
   starts, so a plug-in that needs it has to be loaded by a program that links or preloads it.

   Every size is in bytes. Nothing here writes to stderr, changes errno or ends the process.
   What a function gives by pointer is written only when it succeeds. */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDEMARK_API __attribute__((visibility("default")))

/* The library's version, as "0.1.0". Any thread, at any time. */
TIDEMARK_API const char *tidemark_version(void);

/* What a function answers. */
#define TIDEMARK_RESULTS(RESULT)                                                         \
    RESULT(TIDEMARK_DONE, "done")                                                        \
    RESULT(TIDEMARK_MALFORMED, "an argument that is never right")                        \
    RESULT(TIDEMARK_OUT_OF_TURN, "not in this state of the slot or the bind")            \
    RESULT(TIDEMARK_TOO_LARGE, "the sum of bytes cannot be represented")                 \
    RESULT(TIDEMARK_NO_HOST_MEMORY, "no host memory")                                    \
    RESULT(TIDEMARK_OVER_BUDGET, "over the budget")                                      \
    RESULT(TIDEMARK_NO_ROOM, "more than was planned")                                    \
    RESULT(TIDEMARK_OVERRUN, "an object was written past its end")                       \
    RESULT(TIDEMARK_DEVICE_REFUSED, "a function of the device's refused")                \
    RESULT(TIDEMARK_OVER_CAPACITY, "over the capacity")                                  \
    RESULT(TIDEMARK_ADDRESS_BEYOND, "the address cannot be represented")

enum tidemark_result {
#define TIDEMARK_RESULT(name, text) name,
    TIDEMARK_RESULTS(TIDEMARK_RESULT)
#undef TIDEMARK_RESULT
};

/* The text of a result, a constant; "unknown" for a number that is none. Any thread. */
TIDEMARK_API const char *tidemark_result_text(enum tidemark_result result);

/* Decisions: whether memory may be taken, by the arithmetic that the library itself is held to.
   It is exact, and a sum that 64 bits cannot hold is an answer of its own, never a small
   number. Nothing here keeps anything, locks or calls anything: any thread may decide at any
   time, a signal handler too. */

/* What decided a ceiling. */
enum tidemark_ceiling_source {
    TIDEMARK_CEILING_REQUESTED, /* the request */
    TIDEMARK_CEILING_CAPPED, /* what headroom leaves, which was less than the size requested */
    TIDEMARK_CEILING_DEVICE, /* all that there is, less headroom, as was requested */
    TIDEMARK_CEILING_NONE    /* nothing is limited */
};

struct tidemark_ceiling {
    uint64_t bytes; /* the most that may be held, at least 1; UINT64_MAX: no limit */
    uint64_t requested_bytes; /* 0: no limit */
    uint64_t total_bytes;     /* as it was given */
    uint64_t headroom_bytes;  /* kept free of it, rounded up */
    enum tidemark_ceiling_source source;
};

/* max(1, min(requested, total - headroom)), where total_bytes is all that there is; 0: not known,
   which caps nothing. `request` is what TIDEMARK_DEVICE_MEM may be, "device", "none", "8GiB",
   "50%" of what headroom leaves, or a list, of which the entry of `device` counts; NULL: the
   default, "device". `headroom` is a decimal fraction of at least 0 and below 1, as text, since
   no double is 0.07; NULL: the default, "0.15". The headroom is taken off once.
   MALFORMED: a text that breaks its rule, or no ceiling to write. */
TIDEMARK_API enum tidemark_result tidemark_ceiling(const char *request,
                                                   const char *headroom, unsigned device,
                                                   uint64_t total_bytes,
                                                   struct tidemark_ceiling *ceiling);

/* Every number that a decision can be checked by. */
struct tidemark_verdict {
    uint64_t asked_bytes;
    uint64_t reserved_bytes; /* what would be taken: asked_bytes rounded up */
    uint64_t held_bytes;     /* what counted already at the moment of the decision */
    uint64_t limit_bytes;
    uint64_t short_bytes; /* what was missing; 0: nothing */
};

/* Whether held + bytes stay within the ceiling; a sum that equals it does.
   OVER_BUDGET, TOO_LARGE: they do not. *verdict, which may be NULL, is written for these, too.
   MALFORMED: no ceiling. */
TIDEMARK_API enum tidemark_result tidemark_admit(const struct tidemark_ceiling *ceiling,
                                                 uint64_t held_bytes, uint64_t bytes,
                                                 struct tidemark_verdict *verdict);

/* What a compiler says that one program takes of one device, by the names of
   CompiledMemoryStats: peak_memory_in_bytes, argument_size_in_bytes, ... */
struct tidemark_program {
    uint64_t peak_bytes, argument_bytes, output_bytes, alias_bytes, temporary_bytes;
};

/* What has to be reserved for it: max(peak, argument + output - alias + temporary).
   MALFORMED: a NULL, or aliases exceed the arguments or the outputs. TOO_LARGE. */
TIDEMARK_API enum tidemark_result
tidemark_reservation(const struct tidemark_program *program, uint64_t *bytes);

/* What is charged against one ceiling, by any number of threads at once: of two that ask for
   what one of them can have, exactly one gets it. Its bytes are all zero at first, and the
   library's from then on. */
struct tidemark_account {
    uint64_t state[4];
};

/* Charges `bytes` if tidemark_admit would, on top of what is charged; the answers are its own. */
TIDEMARK_API enum tidemark_result tidemark_charge(struct tidemark_account *account,
                                                  const struct tidemark_ceiling *ceiling,
                                                  uint64_t bytes,
                                                  struct tidemark_verdict *verdict);

/* Takes bytes off again. MALFORMED, and nothing changed: more than is charged, or no account. */
TIDEMARK_API enum tidemark_result tidemark_refund(struct tidemark_account *account,
                                                  uint64_t bytes);

/* What is charged now; the most that was, and how many charges were refused. The pointers may be
   NULL; a NULL account has nothing. */
TIDEMARK_API uint64_t tidemark_charged(const struct tidemark_account *account,
                                       uint64_t *peak_bytes, uint64_t *refusals);

/* The least multiple of `alignment`, any number but 0, that is at least `value`.
   MALFORMED: no alignment, or nowhere to write. TOO_LARGE: it would be above `maximum`. */
TIDEMARK_API enum tidemark_result tidemark_align_up(uint64_t value, uint64_t alignment,
                                                    uint64_t maximum, uint64_t *aligned);

/* An address space. Its three limits are kept apart: what 64 bits can add up, what an address can
   be, and what storage there is. */
struct tidemark_space {
    uint64_t base;            /* address of offset 0 */
    uint64_t largest_address; /* the most that an address is, exclusive ends included */
    uint64_t capacity_bytes;  /* of the storage; UINT64_MAX: not known */
    uint64_t unit_bytes;      /* storage is taken in whole units; at least 1 */
    uint64_t external_peak_bytes; /* the most that others were seen to hold of it */
};

/* Whether `bytes`, rounded up to `alignment`, can be had from the first offset at or after
   `offset` of which the address is a multiple of `alignment`; *place is that offset.
   TOO_LARGE, ADDRESS_BEYOND, OVER_CAPACITY: by the limit that it breaks, and *verdict, which may
   be NULL, is written for these, too. MALFORMED: an alignment or unit of 0, or a NULL. */
TIDEMARK_API enum tidemark_result tidemark_space_place(const struct tidemark_space *space,
                                                       uint64_t offset, uint64_t bytes,
                                                       uint64_t alignment,
                                                       uint64_t *place,
                                                       struct tidemark_verdict *verdict);

/* Explicit binds. A bind is one round of work: objects are recorded in host memory, by any
   number of threads, shipped to the device in one upload, used there, and done with.

     tidemark_bind_open        take a slot
     tidemark_bind_claim       room for an object, from any thread
     tidemark_bind_upload      all objects, in one copy
     tidemark_bind_stage       inputs and outputs, in slices of one device block
     tidemark_bind_end         outputs back, leases ended, the slot is free

   A slot keeps what a bind needed for the next one: a host block that objects are recorded in,
   a device block that they are shipped to, a host block for a mirror, a device block for
   temporaries. So from the second bind of a steady workload on nothing is allocated. What
   an object finds no room for in the host block it gets memory of its own for (it *spills*);
   the block grows at the upload, so that the next bind has the room.

   A block grows by a new one, made before the old one is given back: on failure the old one is
   still there, and both count against the budget while both are held. Its capacity is what
   was asked for, rounded up by at most an eighth; the capacity is what counts.

   Thread rules. Claims of one bind may run at the same time in any number of threads, and with
   nothing else of that bind: the program sees to it that every recorder is done before it
   uploads. All else on one slot or bind is for one thread at a time. Different slots of one
   set are independent of each other; opening, closing and abandoning a set is not. */

enum {
    TIDEMARK_SLOTS_MAX = 64,        /* binds in flight at once; a runtime has a few */
    TIDEMARK_ALIGN_MAX = 1 << 21,   /* of anything in a block: a huge page */
    TIDEMARK_OBJECT_ALIGN = 16,     /* the default, alignof(max_align_t) */
    TIDEMARK_TEMPORARY_ALIGN = 1024 /* the default */
};

#define TIDEMARK_OBJECT_MAGIC UINT64_C(0x544944454f424a31) /* "TIDEOBJ1" */

/* Stands before each image, in the host block and on the device. A device block is cleared when
   it is made, and each bind has a number of its own, so whoever looks for an object where
   none was shipped finds no magic, or an older number. */
struct tidemark_header {
    uint64_t magic;
    uint64_t key;         /* the caller's, as it was claimed with */
    uint64_t image_bytes; /* as it was claimed with */
    uint64_t bind;        /* number of the bind that shipped it, from 1 on in each slot */
};

/* Whether an object that bind number `bind` shipped starts at `header`. */
static inline int tidemark_header_is_object(const struct tidemark_header *header,
                                            uint64_t bind)
{
    return header->magic == TIDEMARK_OBJECT_MAGIC && header->bind == bind;
}

/* The device, as the caller drives it. Every function returns 0 for success, or an error of the
   caller's own, which tidemark_counts.device_error repeats. They are called in the thread that
   called us, never by two threads for one slot, and may be called by several for several
   slots; they must not call tidemark_bind functions themselves. */
struct tidemark_device {
    void *context; /* given to each function */
    /* *address, not 0, of so many bytes, aligned however it likes. */
    int (*allocate)(void *context, size_t bytes, uint64_t *address);
    int (*release)(void *context, uint64_t address);
    /* Zeroes device memory. NULL: what allocate gives is zero already. */
    int (*clear)(void *context, uint64_t address, size_t bytes);
    /* Copies to the device. `from` is free again when it returns. */
    int (*upload)(void *context, uint64_t to, const void *from, size_t bytes);
    /* Copies from the device, all done when it returns. NULL: nothing is ever copied back. */
    int (*download)(void *context, void *to, uint64_t from, size_t bytes);
};

struct tidemark_settings {
    unsigned slot_count;        /* 1 to TIDEMARK_SLOTS_MAX */
    size_t object_align;        /* a power of two; 0: TIDEMARK_OBJECT_ALIGN */
    size_t temporary_align;     /* a power of two; 0: TIDEMARK_TEMPORARY_ALIGN */
    uint64_t host_budget_bytes; /* most host memory held, spills included; 0: no limit */
    uint64_t device_budget_bytes; /* most device memory held; 0: no limit */
    struct tidemark_device device;
};

struct tidemark_set;  /* slots, and what they keep */
struct tidemark_bind; /* the bind in flight on a slot */

/* Makes a set of slots; they keep nothing yet.
   MALFORMED: slot_count or an alignment out of its limits, allocate, release or upload missing,
   a NULL. NO_HOST_MEMORY. */
TIDEMARK_API enum tidemark_result
tidemark_set_open(const struct tidemark_settings *settings, struct tidemark_set **set);

/* Gives back everything that the slots keep, and the set. The set is gone whatever the answer.
   OUT_OF_TURN, and nothing done: a bind is in flight (end it, or tidemark_slot_reset).
   DEVICE_REFUSED: some device memory could not be freed, or a lease not be ended. */
TIDEMARK_API enum tidemark_result tidemark_set_close(struct tidemark_set *set);

/* For a device that is lost: gives the host memory back, forgets all device memory and leases,
   ends whatever bind is in flight, and calls no function of the device's. */
TIDEMARK_API void tidemark_set_abandon(struct tidemark_set *set);

/* What the slots hold now, both sides by capacity. Any thread. */
TIDEMARK_API void tidemark_set_held(const struct tidemark_set *set, uint64_t *host_bytes,
                                    uint64_t *device_bytes);

/* Forgets the bind in flight on a slot, for an error path on which it cannot be ended: nothing
   is copied back, no function of the device's is called, and the bind's handle is dead. What
   it held is ended when the slot is opened next, or the set closed. MALFORMED: no such slot. */
TIDEMARK_API enum tidemark_result tidemark_slot_reset(struct tidemark_set *set,
                                                      unsigned slot);

/* Gives back the memory that an idle slot keeps; again, it does nothing. MALFORMED: no such
   slot. OUT_OF_TURN: a bind is in flight. DEVICE_REFUSED: something could not be freed; it
   is forgotten, and goes on counting against the budget. */
TIDEMARK_API enum tidemark_result tidemark_slot_release(struct tidemark_set *set,
                                                        unsigned slot);

/* Begins a bind on an idle slot. Allocates nothing. Of threads that race for one slot one gets
   it. MALFORMED: no such slot. OUT_OF_TURN: the slot's bind is still in flight. */
TIDEMARK_API enum tidemark_result
tidemark_bind_open(struct tidemark_set *set, unsigned slot, struct tidemark_bind **bind);

/* An object of a bind. The caller keeps it until the bind ends. */
struct tidemark_object {
    void *image;        /* where to write, until the upload; aligned to object_align */
    size_t image_bytes; /* as asked for */
    size_t offset;      /* of its header; TIDEMARK_NO_OFFSET: it spilled */
    void *spilled;      /* ours */
};

#define TIDEMARK_NO_OFFSET SIZE_MAX

/* Room for an object of `image_bytes`, behind a header that is written already. The image is
   not initialised. Any thread, at the same time as other claims.
   TOO_LARGE. NO_HOST_MEMORY, OVER_BUDGET: it did not fit, and could not spill. OUT_OF_TURN: the
   bind is uploaded or over. MALFORMED: a NULL. */
TIDEMARK_API enum tidemark_result tidemark_bind_claim(struct tidemark_bind *bind,
                                                      uint64_t key, size_t image_bytes,
                                                      struct tidemark_object *object);

/* What was shipped. */
struct tidemark_upload {
    uint64_t address; /* of the block on the device; 0: the bind had no object */
    size_t bytes;
    uint64_t bind; /* the number in every header */
};

/* Ends the recording: appends what spilled, grows both blocks to what that takes, and ships all
   objects in one upload; no upload, and no memory, where there is none. Every recorder must be
   done. After a failure it may be tried again, but images are where they were no more.
   OVERRUN: somebody wrote past the end of an image; nothing was shipped. NO_HOST_MEMORY,
   OVER_BUDGET, DEVICE_REFUSED, TOO_LARGE; OUT_OF_TURN: uploaded already, or over. */
TIDEMARK_API enum tidemark_result tidemark_bind_upload(struct tidemark_bind *bind,
                                                       struct tidemark_upload *upload);

/* Where an object's header lies on the device; its image follows. Any thread, after the upload
   and before the end. OUT_OF_TURN otherwise. */
TIDEMARK_API enum tidemark_result
tidemark_bind_address(const struct tidemark_bind *bind,
                      const struct tidemark_object *object, uint64_t *address);

/* The slot's host mirror, of at least `bytes`: not initialised, nothing is carried over from
   before, and no page of it is touched here. `align` is a power of two. It is the bind's
   until the bind asks again or ends.
   MALFORMED, TOO_LARGE, NO_HOST_MEMORY, OVER_BUDGET, OUT_OF_TURN: the bind is over. */
TIDEMARK_API enum tidemark_result tidemark_bind_mirror(struct tidemark_bind *bind,
                                                       size_t bytes, size_t align,
                                                       void **mirror);

/* Temporaries: slices of one device block that the slot keeps, each aligned to
   temporary_align. Not cleared: a slice has whatever the last bind left there.

   tidemark_bind_plan makes a block for so many bytes, the sum of the slices' sizes, each rounded
   up to temporary_align; for 0 bytes it changes nothing. Not while slices are out.
   TOO_LARGE, OVER_BUDGET, DEVICE_REFUSED, OUT_OF_TURN. */
TIDEMARK_API enum tidemark_result tidemark_bind_plan(struct tidemark_bind *bind,
                                                     size_t bytes);

/* The next slice. Any thread, at the same time as other slices.
   NO_ROOM, and the next smaller one may still fit: more than is left. OUT_OF_TURN: the bind
   is over. */
TIDEMARK_API enum tidemark_result tidemark_bind_slice(struct tidemark_bind *bind,
                                                      size_t bytes, uint64_t *address);

/* How a lease ends. */
enum tidemark_ending {
    TIDEMARK_ENDS_FREED,  /* device memory of its own: by the device's release */
    TIDEMARK_ENDS_SLICE,  /* a slice: with the bind, and nothing is called */
    TIDEMARK_ENDS_CALLER, /* the caller's own device memory: not by us */
};

/* Device memory that stands for host memory during a bind. */
struct tidemark_lease {
    void *host;
    uint64_t device; /* 0: there is nothing to end */
    size_t bytes;
    enum tidemark_ending ending;
    int copies_back; /* whether the end of the bind copies device to host */
};

/* Adds a lease to the bind's. MALFORMED: an ending that is none, or to be copied back without a
   download or a place. NO_HOST_MEMORY, OVER_BUDGET, OUT_OF_TURN: the bind is over. */
TIDEMARK_API enum tidemark_result tidemark_bind_lease(struct tidemark_bind *bind,
                                                      const struct tidemark_lease *lease);

/* An argument of the work. One that is on the device already, or has no bytes, needs no slice. */
struct tidemark_tensor {
    void *host;
    size_t bytes;
    uint64_t device; /* the caller's own device memory, or 0; on return where it is */
    int is_input;    /* host is copied to its slice */
    int is_output;   /* and its slice to host, when the bind ends */
};

/* Plans, slices, copies in and leases a whole list. All or nothing: after a failure the bind has
   no lease of it and no tensor has changed; what the slot keeps stays. Once in a bind, and not
   beside tidemark_bind_plan.
   MALFORMED: an output without a download, a NULL; TOO_LARGE, NO_HOST_MEMORY, OVER_BUDGET,
   DEVICE_REFUSED, OUT_OF_TURN. */
TIDEMARK_API enum tidemark_result tidemark_bind_stage(struct tidemark_bind *bind,
                                                      struct tidemark_tensor *tensors,
                                                      size_t count);

/* Names what the bind does from now on, until the next name or its end, for the record of binds
   that TIDEMARK_BINDS asks for; without one it does nothing. `name` is a constant, of which 23
   characters are kept. MALFORMED, OUT_OF_TURN: the bind is over. */
TIDEMARK_API enum tidemark_result tidemark_bind_phase(struct tidemark_bind *bind,
                                                      const char *name);

/* What a bind did. */
struct tidemark_counts {
    uint64_t bind;         /* its number on the slot, from 1 on */
    uint64_t objects;      /* shipped */
    uint64_t spilled;      /* of the objects claimed, those that had to spill */
    uint64_t bytes;        /* shipped: every object's piece, once */
    uint64_t uploads;      /* of objects */
    uint64_t host_calls;   /* for host memory, to get some or to give some back */
    uint64_t device_calls; /* allocate and release of the device */
    uint64_t copied_in;    /* tensors */
    uint64_t copied_back;  /* leases */
    uint64_t ended_freed;  /* leases, by their ending */
    uint64_t ended_slice;
    uint64_t ended_caller;
    int device_error; /* the last that a function of the device's gave; 0: none */
};

/* The counts of the bind in flight, or of the last one that ended on its slot. */
TIDEMARK_API void tidemark_bind_counts(const struct tidemark_bind *bind,
                                       struct tidemark_counts *counts);

/* Ends the bind: copies back what is to be copied back, unless `is_failed`, ends every lease,
   gives back what spilled, and frees the slot. The bind is over whatever the answer.
   DEVICE_REFUSED: something could not be copied or freed; the rest was. OUT_OF_TURN: it was
   over already. */
TIDEMARK_API enum tidemark_result tidemark_bind_end(struct tidemark_bind *bind,
                                                    int is_failed);

#ifdef __cplusplus
}
#endif

#endif
