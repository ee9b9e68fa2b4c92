/* Whether the overlay of other_dlsym.c answers, and its RTLD_NEXT look-ups still do. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    int (*special)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "other_special");
    printf("special %d, next %d, again %d\n", special != NULL ? special() : 0,
           dlsym(RTLD_NEXT, "strlen") != NULL, dlsym(RTLD_NEXT, "strlen") != NULL);
    return 0;
}
