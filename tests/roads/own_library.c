/* A library with a function of the driver's name, and with one that hands on to the next of its
   own name, as OpenMP's tool start does. */
#include <dlfcn.h>
#include <stdio.h>

int cuMemAlloc_v2(void);
void *ompt_start_tool(unsigned version, const char *runtime);
const char *own_ask(void);

int cuMemAlloc_v2(void)
{
    return 77;
}

__attribute__((weak)) void *ompt_start_tool(unsigned version, const char *runtime)
{
    void *(*following)(unsigned, const char *) =
        (void *(*)(unsigned, const char *))dlsym(RTLD_NEXT, "ompt_start_tool");
    return following != NULL ? following(version, runtime) : NULL;
}

const char *own_ask(void)
{
    static char text[128];
    int (*mine)(void) = (int (*)(void))dlsym(dlopen(OWN_NAME, RTLD_NOW), "cuMemAlloc_v2");
    snprintf(text, sizeof text, "inside: mine gives %d, next %d, tool %p",
             mine != NULL ? mine() : -1, dlsym(RTLD_NEXT, "cuMemAlloc_v2") != NULL,
             ompt_start_tool(1, "own"));
    return text;
}
