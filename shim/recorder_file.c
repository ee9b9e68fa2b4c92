#include "shim/recorder_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/kernel.h"
#include "shim/output.h"

enum {
    RECORDS_MOST = 8192
}; /* about 1.5 MiB: twelve binds are a measurement, these a day */

/* Under the recorder's lock. */
static struct pool_bind_record *records;
static size_t record_count;
static uint64_t lost_count;
static const char *bounded_by;

bool shim_recorder_file_open(void)
{
    long address = shim_kernel(SYS_mmap, 0, (long)(RECORDS_MOST * sizeof(*records)),
                               PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address < 0)
        return false;
    records = (struct pool_bind_record *)address;
    return true;
}

void shim_recorder_file_begin(const char *boundary)
{
    bounded_by = boundary;
    shim_recorder_file_drop();
}

void shim_recorder_file_keep(const struct pool_bind_record *record)
{
    if (record_count < RECORDS_MOST)
        records[record_count++] = *record;
    else
        lost_count++;
}

static void put_records(void *context, struct pool_text *text)
{
    (void)context;
    pool_bind_record_put_head(text, TIDEMARK_VERSION, program_invocation_name,
                              (uint64_t)getpid(), bounded_by);
    for (size_t i = 0; i < record_count; i++)
        pool_bind_record_put(text, &records[i]);
    if (lost_count)
        pool_bind_record_put_lost(text, lost_count);
}

void shim_recorder_file_write(const struct shim_settings *settings)
{
    if (shim_output_is_ours(settings, settings->options.binds))
        shim_output_write("record of binds", settings->options.binds, put_records, NULL);
}

void shim_recorder_file_drop(void)
{
    record_count = 0;
    lost_count = 0;
}
