/* Opens joins.c's library and says what its thread's call gave. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    int (*result)(void) = (int (*)(void))dlsym(library, "joins_result");
    printf("result %d\n", result());
    return 0;
}
