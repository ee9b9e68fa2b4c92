/* A library that is linked to the driver, and asks it. */
#include <stddef.h>

int cuMemGetInfo_v2(size_t *free, size_t *total);
int plugin_ask(void);

int plugin_ask(void)
{
    size_t total;
    return cuMemGetInfo_v2(NULL, &total);
}
