/* A plugin that the program opens with RTLD_DEEPBIND: it frees what libc allocated for it. */
#include <stdlib.h>
#include <string.h>

char *deep_take(const char *text);
void deep_drop(char *text);

char *deep_take(const char *text)
{
    return strdup(text);
}

void deep_drop(char *text)
{
    free(text);
}
