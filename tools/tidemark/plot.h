/* Plots, by gnuplot, which is asked for only when a plot is. */
#ifndef TIDEMARK_PLOT_H
#define TIDEMARK_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Starts a plot that becomes the SVG file `path`; what is written to the stream are gnuplot's
   commands and data. NULL, and said, when there is no gnuplot. */
FILE *plot_open(const char *path);

/* Finishes it. False, and said, when gnuplot failed or wrote nothing. */
bool plot_close(FILE *plot, const char *path);

#endif
