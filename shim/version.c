#include "pool/tidemark.h"

const char *tidemark_version(void)
{
    return TIDEMARK_VERSION;
}
