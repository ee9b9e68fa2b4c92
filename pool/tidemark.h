/* Tidemark's own functions, for programs that are written for it. Programs that are not need
   none of this: the library serves them as it is.

   Link with -ltidemark (pkg-config tidemark, or find_package(tidemark) in CMake), or look the
   functions up in a process in which the library is preloaded; there, a weak declaration is
   NULL without it. The library is linked with -z nodlopen: it must be there when the program
   starts, so a plug-in that needs it has to be loaded by a program that links or preloads it.

   Every size is in bytes. Nothing here writes to stderr, changes errno or ends the process.
   What a function gives by pointer is written only when it succeeds. */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDEMARK_API __attribute__((visibility("default")))

/* The library's version, as "0.1.0". Any thread, at any time. */
TIDEMARK_API const char *tidemark_version(void);

#ifdef __cplusplus
}
#endif

#endif
