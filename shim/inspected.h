/* Whether a tool watches the program that wants to see every allocation and free. */
#ifndef SHIM_INSPECTED_H
#define SHIM_INSPECTED_H

/* "compute-sanitizer (CUDA_INJECTION64_PATH)" or the like; NULL: none is seen. Reads the
   environment, and a file. */
const char *shim_inspected(void);

#endif
