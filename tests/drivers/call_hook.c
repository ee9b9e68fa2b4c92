/* Calls one hook of the library on the driver of echo.h, once, with room for every answer:

     call_hook DRIVER SYMBOL RESULT

   prints what came back. The driver answers RESULT. */
#include "tests/drivers/echo.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult six_words(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                           uintptr_t);

int main(int argc, char **argv)
{
    static uint64_t rooms[ECHO_ARGUMENTS][64];
    void *driver = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (driver == NULL)
        return 2;
    echo_row_function *row_of;
    six_words *function;
    void *found = dlsym(driver, "echo_row");
    memcpy(&row_of, &found, sizeof row_of);
    struct echo_row *row = row_of(argv[2]);
    found = dlsym(driver, argv[2]);
    memcpy(&function, &found, sizeof function);
    if (row == NULL || function == NULL)
        return 2;
    row->result = atoi(argv[3]);
    printf("%d\n",
           function((uintptr_t)rooms[0], (uintptr_t)rooms[1], (uintptr_t)rooms[2],
                    (uintptr_t)rooms[3], (uintptr_t)rooms[4], (uintptr_t)rooms[5]));
    return 0;
}
