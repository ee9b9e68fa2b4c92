#include "policy/verdict.h"

const char *policy_verdict_sentence(enum policy_verdict_kind kind)
{
    static const char *const sentences[] = {
#define KIND(name, sentence) [name] = (sentence),
        POLICY_VERDICT_KINDS(KIND)
#undef KIND
    };
    return sentences[kind];
}
