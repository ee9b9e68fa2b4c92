/* A plan to place: address spaces, and the buffers that are wanted in them. What cannot be
   understood is said with its field, line and column; nothing is guessed. */
#ifndef TIDEMARK_PLAN_FILE_H
#define TIDEMARK_PLAN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/placement.h"
#include "tools/tidemark/json_input.h"

enum {
    PLAN_SPACES_MAX = 64,
    PLAN_BUFFERS_MAX = 1 << 16, /* the search looks at every pair: seconds for so many */
    PLAN_NAME_BYTES = 128,      /* of a name, with its NUL */
};

struct plan_buffer {
    const char *name;
    struct policy_buffer wanted;
    size_t space;
    uint64_t offset; /* once its space is placed */
};

struct plan_space {
    const char *name;
    struct policy_space limits;
    /* Once it is decided: */
    size_t buffer_count;
    struct policy_placement_verdict verdict;
    const struct plan_buffer *refused;   /* NULL: the space itself is, or nothing is */
    struct policy_high_water high_water; /* if admitted */
};

struct plan {
    struct json_input input; /* names lie in it */
    struct plan_space *spaces;
    size_t space_count;
    struct plan_buffer *buffers;
    size_t buffer_count;
    bool ignores_capacity; /* some field looks like one and is none, which was said */
};

/* Reads the file `path`, which has to outlive *plan. False, and said, when it is no plan;
   then nothing is to be freed. */
bool plan_file_read(const char *path, struct plan *plan);

/* The same of `length` bytes that were read already. */
bool plan_file_parse(const char *path, const char *bytes, size_t length,
                     struct plan *plan);

void plan_file_free(struct plan *plan);

#endif
