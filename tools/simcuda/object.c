#include "tools/simcuda/object.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "tools/simcuda/context.h"

static void *live; /* a tree of objects, by address */

static int by_address(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)left;
    uintptr_t b = (uintptr_t)right;
    return (a > b) - (a < b);
}

void *sim_object_create(enum sim_kind kind, size_t bytes, CUcontext owner)
{
    struct sim_object *object = calloc(1, bytes);
    if (object == NULL)
        return NULL;
    if (tsearch(object, &live, by_address) == NULL) {
        free(object);
        return NULL;
    }
    object->kind = kind;
    object->owner = owner;
    if (owner != NULL)
        LIST_INSERT_HEAD(&owner->objects, object, siblings);
    return object;
}

bool sim_object_is(const void *handle, enum sim_kind kind)
{
    struct sim_object *const *found = tfind(handle, &live, by_address);
    return found != NULL && (*found)->kind == kind;
}

void sim_object_destroy(struct sim_object *object)
{
    if (object->dispose != NULL)
        object->dispose(object);
    if (object->owner != NULL)
        LIST_REMOVE(object, siblings);
    tdelete(object, &live, by_address);
    free(object);
}
