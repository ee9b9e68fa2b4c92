/* Text of a file may be anything, and a terminal obeys some of it. */
#ifndef TIDEMARK_PRINTABLE_H
#define TIDEMARK_PRINTABLE_H

/* Replaces what is not printable ASCII by '?'. */
static inline void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

#endif
