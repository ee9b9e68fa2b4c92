/* Prints the sample report for check_report_json.sh: `print_report json` as JSON, and
   `print_report list` its counters, "group name value" a line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/report_sample.h"

static void print(void *context, const char *bytes, size_t length)
{
    (void)context;
    fwrite(bytes, 1, length, stdout);
}

static void print_json(void)
{
    char buffer[64];
    struct pool_text text = {.bytes = buffer, .capacity = sizeof(buffer), .sink = print};
    struct pool_report report = report_sample();
    pool_report_put_json(&text, &report);
    pool_text_flush(&text);
}

static void print_list(void)
{
    unsigned row = 0;
#define STAT(group, name, help)                                                          \
    printf("%s %s %" PRIu64 "\n", #group, #name, report_sample_value(row++));
#include "pool/stats.def"
#undef STAT
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "json") == 0)
        print_json();
    else if (count == 2 && strcmp(words[1], "list") == 0)
        print_list();
    else
        return 2;
    return 0;
}
