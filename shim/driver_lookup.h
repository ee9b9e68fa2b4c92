/* cuGetProcAddress, both forms: the real one is asked first, and its answer is replaced
   by (base name, returned address), so that version, flags, status and unknown names are
   right by construction. */
#ifndef SHIM_DRIVER_LOOKUP_H
#define SHIM_DRIVER_LOOKUP_H

#include <stdint.h>

/* A look-up of this name led to another copy of the driver than the one that is hooked. */
void shim_lookup_note_other(const char *name);

/* Answers for a hooked name with an address that we could not place, and those noted above;
   they were handed on. */
uint64_t shim_lookup_unknown(void);

#endif
