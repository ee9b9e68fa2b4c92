/* A program that is written for the library: it reserves device memory for what compilers say of
   two programs, where both together do not fit. Prints what it decided. */
#include <stdint.h>
#include <stdio.h>
#include <tidemark.h>

static int start(struct tidemark_account *account, const struct tidemark_ceiling *ceiling,
                 const struct tidemark_program *program)
{
    struct tidemark_verdict verdict;
    uint64_t bytes;
    enum tidemark_result result = tidemark_reservation(program, &bytes);

    if (result == TIDEMARK_DONE)
        result = tidemark_charge(account, ceiling, bytes, &verdict);
    if (result == TIDEMARK_DONE)
        printf("admitted %llu\n", (unsigned long long)bytes);
    else if (result == TIDEMARK_OVER_BUDGET)
        printf("%s: %llu beside %llu of %llu, short by %llu\n",
               tidemark_result_text(result), (unsigned long long)verdict.reserved_bytes,
               (unsigned long long)verdict.held_bytes,
               (unsigned long long)verdict.limit_bytes,
               (unsigned long long)verdict.short_bytes);
    else
        printf("%s\n", tidemark_result_text(result));
    return result == TIDEMARK_DONE;
}

int main(void)
{
    /* peak, argument, output, alias, temporary */
    static const struct tidemark_program witness = {90, 56, 2, 0, 131072};
    static const struct tidemark_program aliased = {0, 4, 8, 5, 0};
    struct tidemark_account account = {{0}};
    struct tidemark_ceiling ceiling;

    if (tidemark_ceiling("0=1MiB,*=50%", "0.15", 1, 500000, &ceiling) != TIDEMARK_DONE)
        return 1;
    printf("ceiling %llu\n", (unsigned long long)ceiling.bytes);
    int first = start(&account, &ceiling, &witness);
    int second = start(&account, &ceiling, &witness);
    int third = start(&account, &ceiling, &aliased);
    printf("charged %llu\n", (unsigned long long)tidemark_charged(&account, NULL, NULL));
    return first && !second && !third ? 0 : 1;
}
