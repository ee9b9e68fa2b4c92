/* Looks driver functions up by cuGetProcAddress_v2 and calls none:

     look_up DRIVER (BASE VERSION)...

   Fails where the driver does. */
#include "shim/driver_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    CUresult (*look_up)(const char *, void **, int, cuuint64_t, int *);
    void *driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *found = driver != NULL ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    if (found == NULL)
        return 2;
    memcpy(&look_up, &found, sizeof found);
    for (int i = 2; i + 1 < argc; i += 2) {
        int status = 0;
        if (look_up(argv[i], &found, atoi(argv[i + 1]), 0, &status) != CUDA_SUCCESS ||
            found == NULL)
            return 1;
    }
    return 0;
}
