#include "pool/tidemark.h"

const char *tidemark_result_text(enum tidemark_result result)
{
    switch (result) {
#define TIDEMARK_RESULT(name, text)                                                      \
    case name:                                                                           \
        return text;
        TIDEMARK_RESULTS(TIDEMARK_RESULT)
#undef TIDEMARK_RESULT
    }
    return "unknown";
}
