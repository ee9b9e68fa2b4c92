/* Says which version of the library it finds; built with WEAK it need not find one. */
#include <stdio.h>

#ifdef WEAK
#pragma weak tidemark_version
#endif
#include <tidemark.h>

int main(void)
{
#ifdef WEAK
    if (tidemark_version == NULL) {
        puts("none");
        return 0;
    }
#endif
    printf("tidemark %s\n", tidemark_version());
    return 0;
}
