/* Where the parts of an installation lie, found from the place of this executable alone,
   so that a moved tree and a build folder both work. */
#ifndef TIDEMARK_INSTALL_H
#define TIDEMARK_INSTALL_H

#include <limits.h>
#include <stdbool.h>

/* The absolute path of libtidemark.so. False, and said, when there is none that
   LD_PRELOAD can name. */
bool install_find_library(char path[PATH_MAX]);

/* The folder of the simulated driver beside that library. False, and said, when there is
   none. */
bool install_find_simulation(const char *library, char path[PATH_MAX]);

#endif
