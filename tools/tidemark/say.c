#include "tools/tidemark/say.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("tidemark: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}
