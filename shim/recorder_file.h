/* Where a record of binds is kept until it is written: in memory that is there from the start, so
   that keeping takes no page fault and no call. The caller holds the recorder's lock. */
#ifndef SHIM_RECORDER_FILE_H
#define SHIM_RECORDER_FILE_H

#include <stdbool.h>

#include "pool/bind_record.h"
#include "shim/init.h"

/* Makes room for the records; false when the kernel gives none. */
bool shim_recorder_file_open(void);

/* What bounds binds from now on, a constant; drops what was kept. */
void shim_recorder_file_begin(const char *boundary);

/* Keeps one more; where there is no room for it, it is counted as lost. */
void shim_recorder_file_keep(const struct pool_bind_record *record);

/* Writes what is kept to where TIDEMARK_BINDS says, if that is this process's to write. */
void shim_recorder_file_write(const struct shim_settings *settings);

/* Forgets what is kept: it is another process's. */
void shim_recorder_file_drop(void);

#endif
