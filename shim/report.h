/* What a run tells when the program ends. No driver call, no malloc, no stdio. */
#ifndef SHIM_REPORT_H
#define SHIM_REPORT_H

#include "shim/init.h"

/* Settles where a report will go, while the working directory is still the one that a
   relative path was meant for. */
void shim_report_open(const struct shim_settings *settings);

/* A child of fork is a process of its own. */
void shim_report_fork_done_in_child(void);

/* Writes all that was asked for, if this is the process to do it. */
void shim_report_write(const struct shim_settings *settings);

#endif
