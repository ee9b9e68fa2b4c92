/* Clearing a reused block for calloc: only pages that hold something are written, so that a
   large block that is used in part stays as small as it was. */
#ifndef SHIM_HOST_CLEAR_H
#define SHIM_HOST_CLEAR_H

#include <stdbool.h>
#include <stddef.h>

/* How the kernel is asked which pages hold something. */
enum shim_clear_way {
    SHIM_CLEAR_BY_SCAN,    /* ioctl(PAGEMAP_SCAN), Linux 6.7 */
    SHIM_CLEAR_BY_PAGEMAP, /* an entry of /proc/self/pagemap a page, Linux 2.6.25 */
    SHIM_CLEAR_BY_WRITING, /* not at all */
};

/* Makes a page-aligned private anonymous range read as zero, by the given way or by writing
   it whole where that way fails. Preserves errno. */
void shim_clear_by(enum shim_clear_way way, char *start, size_t bytes);

/* The same by the best way that this kernel has and the process may use. */
void shim_clear(char *start, size_t bytes);

/* Whether reading files of /proc is known to be harmless: no seccomp filter is in force. */
bool shim_clear_may_read_files(void);

/* From now on only memory system calls are made here: a seccomp filter may be in force. */
void shim_clear_no_scan(void);

/* Whether that was said. */
bool shim_clear_is_told(void);

#endif
