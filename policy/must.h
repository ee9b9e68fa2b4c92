/* An invariant of our own that is checked in every build: broken, it stops the process
   where it broke. Never for what a user, a device or the kernel says; that is handled. */
#ifndef POLICY_MUST_H
#define POLICY_MUST_H

#define must(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
