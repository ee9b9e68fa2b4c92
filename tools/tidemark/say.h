/* One line on standard error that begins with "tidemark: ". Everything this command has
   to say beside its results goes through here; standard output belongs to the results. */
#ifndef TIDEMARK_SAY_H
#define TIDEMARK_SAY_H

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
