#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    if (!plugin)
        return 1;
    char *(*take)(const char *) = (char *(*)(const char *))dlsym(plugin, "deep_take");
    void (*drop)(char *) = (void (*)(char *))dlsym(plugin, "deep_drop");
    drop(strdup("allocated here, freed there"));
    char *text = take("allocated there, freed here");
    puts(text);
    free(text);
    return 0;
}
