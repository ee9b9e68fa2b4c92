/* Where huge pages are asked for: the only way to a cheap first use, and a waste where memory
   is used in small parts. */
#ifndef POOL_HUGE_H
#define POOL_HUGE_H

enum pool_huge {
    POOL_HUGE_AUTO, /* where memory is dense: the packed area, the first MiB of a large block */
    POOL_HUGE_NEVER,
    POOL_HUGE_ALWAYS,
};

#endif
