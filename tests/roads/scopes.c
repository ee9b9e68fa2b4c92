/* Whose functions a program gets by each handle, in a process with two libraries of its own that
   define names of the driver, and with or without a driver:

     scopes OWN_LIBRARY [DRIVER [global]]

   OWN_LIBRARY defines cuMemAlloc_v2 and asks for it in every way. One line an answer: who has it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The last part of the path of the file that code comes from; both the driver and what stands
   before it are "the driver". */
static const char *whose(const void *code)
{
    Dl_info info;
    if (code == NULL)
        return "nobody's";
    if (dladdr(code, &info) == 0)
        return "unknown";
    const char *name = strrchr(info.dli_fname, '/');
    name = name != NULL ? name + 1 : info.dli_fname;
    return strcmp(name, "libtidemark.so") == 0 ? "libcuda.so.1" : name;
}

static void ask(const char *name)
{
    printf("%s: default %s", name, whose(dlsym(RTLD_DEFAULT, name)));
    printf(", main %s", whose(dlsym(dlopen(NULL, RTLD_NOW), name)));
    printf(", next %s", whose(dlsym(RTLD_NEXT, name)));
    printf(", next again %s", whose(dlsym(RTLD_NEXT, name)));
    printf(", libm %s\n", whose(dlsym(dlopen("libm.so.6", RTLD_NOW), name)));
}

int main(int argc, char **argv)
{
    void *own = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *driver = NULL;
    if (own == NULL)
        return 2;
    if (argc > 2) {
        driver = dlopen(argv[2], RTLD_NOW | (argc > 3 ? RTLD_GLOBAL : RTLD_LOCAL));
        if (driver == NULL)
            return 2;
    }
    ask("cuMemAlloc_v2");
    ask("cuGetProcAddress_v2");
    ask("cuInit");
    ask("ompt_start_tool");
    printf("own: %s\n", whose(dlsym(own, "cuMemAlloc_v2")));
    if (driver != NULL)
        printf("driver: %s\n", whose(dlsym(driver, "cuMemAlloc_v2")));
    const char *(*inside)(void) = (const char *(*)(void))dlsym(own, "own_ask");
    printf("%s\n", inside());
    return 0;
}
