/* Defends: whoever asks for a start, a size and an alignment gets the same answer at every
   entry: the checked arithmetic, a space, a plan, the charge of a run, the admission of a
   report, what tidemark.h has of these, and the growth of retained memory. */
#include <inttypes.h>
#include <string.h>

#include "policy/admit.h"
#include "policy/checked.h"
#include "policy/ledger.h"
#include "policy/space.h"
#include "pool/rows.h"
#include "pool/spans.h"
#include "pool/tidemark.h"
#include "tests/fake_source.h"
#include "tests/placement_fixture.h"

/* Whether `bytes`, in whole alignments, fit from `start` on, up to `maximum`. */
struct question {
    uint64_t start, bytes, alignment, maximum;
};

static bool by_arithmetic(struct question asked)
{
    uint64_t aligned;
    return policy_checked_align_up(asked.bytes, asked.alignment, UINT64_MAX, &aligned) &&
           policy_checked_range(asked.start, aligned, asked.maximum);
}

static struct policy_space space_of(struct question asked)
{
    struct policy_space space = unlimited;
    space.largest_address = asked.maximum;
    return space;
}

static bool by_address(struct question asked)
{
    struct policy_space space = space_of(asked);
    return policy_space_admit(&space, asked.start, asked.bytes, asked.alignment).kind ==
           POLICY_ADMITTED;
}

/* The start is a base, or an offset into storage with others below. */
static bool by_base(struct question asked)
{
    struct policy_space space = space_of(asked);
    space.base = asked.start;
    return policy_space_admit(&space, 0, asked.bytes, asked.alignment).kind ==
           POLICY_ADMITTED;
}

static bool by_storage(struct question asked)
{
    struct policy_space space = unlimited;
    space.capacity_bytes = asked.maximum;
    return policy_space_admit(&space, asked.start, asked.bytes, asked.alignment).kind ==
           POLICY_ADMITTED;
}

static bool by_external_peak(struct question asked)
{
    struct policy_space space = unlimited;
    space.capacity_bytes = asked.maximum;
    space.external_peak_bytes = asked.start;
    return policy_space_admit(&space, 0, asked.bytes, asked.alignment).kind ==
           POLICY_ADMITTED;
}

static bool by_plan(struct question asked)
{
    struct policy_space space = space_of(asked);
    struct policy_buffer buffer = {asked.bytes, asked.alignment, 0, 1};
    space.base = asked.start;
    return plan(&space, &buffer, 1).verdict.kind == POLICY_ADMITTED;
}

/* As cuMemAlloc is charged, `start` being what is charged already. */
static bool by_charge(struct question asked)
{
    struct policy_ledger_account account = {0};
    struct policy_ceiling ceiling = {.bytes = asked.maximum};
    uint64_t aligned;
    return policy_ledger_charge(&account, &ceiling, asked.start).kind ==
               POLICY_ADMITTED &&
           policy_checked_align_up(asked.bytes, asked.alignment, UINT64_MAX, &aligned) &&
           policy_ledger_charge(&account, &ceiling, aligned).kind == POLICY_ADMITTED;
}

/* As `tidemark admit` decides, `start` being what is resident. */
static bool by_report(struct question asked)
{
    struct policy_ceiling ceiling = {.bytes = asked.maximum};
    uint64_t aligned;
    if (!policy_checked_align_up(asked.bytes, asked.alignment, UINT64_MAX, &aligned))
        return false;
    struct policy_reservation reservation = policy_reservation_of_total(aligned);
    return policy_admit(&ceiling, asked.start, &reservation).kind == POLICY_ADMITTED;
}

/* The same questions asked by a program, through tidemark.h. */
static bool by_program_charge(struct question asked)
{
    struct tidemark_account account = {{0}};
    struct tidemark_ceiling ceiling = {.bytes = asked.maximum};
    uint64_t aligned;
    return tidemark_charge(&account, &ceiling, asked.start, NULL) == TIDEMARK_DONE &&
           tidemark_align_up(asked.bytes, asked.alignment, UINT64_MAX, &aligned) ==
               TIDEMARK_DONE &&
           tidemark_charge(&account, &ceiling, aligned, NULL) == TIDEMARK_DONE;
}

static bool by_program_admission(struct question asked)
{
    struct tidemark_ceiling ceiling = {.bytes = asked.maximum};
    uint64_t aligned;
    return tidemark_align_up(asked.bytes, asked.alignment, UINT64_MAX, &aligned) ==
               TIDEMARK_DONE &&
           tidemark_admit(&ceiling, asked.start, aligned, NULL) == TIDEMARK_DONE;
}

static bool by_program_storage(struct question asked)
{
    struct tidemark_space space = {
        .largest_address = UINT64_MAX,
        .capacity_bytes = asked.maximum,
        .unit_bytes = 1,
        .external_peak_bytes = asked.start,
    };
    uint64_t place;
    return tidemark_space_place(&space, 0, asked.bytes, asked.alignment, &place, NULL) ==
           TIDEMARK_DONE;
}

static const struct {
    const char *name;
    bool (*decides)(struct question asked);
} entries[] = {
    {"a space's addresses", by_address},
    {"a space's base", by_base},
    {"a space's storage", by_storage},
    {"a space's recorded peak", by_external_peak},
    {"a plan", by_plan},
    {"a charge", by_charge},
    {"a report", by_report},
    {"a program's charge", by_program_charge},
    {"a program's admission", by_program_admission},
    {"a program's storage", by_program_storage},
};

/* A plan aligns the start as well; what leaves nothing under a ceiling is refused before a
   report is read, which may be of a program that takes nothing. */
static bool answers(bool (*decides)(struct question asked), struct question asked)
{
    if (decides == by_plan)
        return asked.alignment == 0 || asked.start % asked.alignment == 0;
    return decides != by_report || asked.start < asked.maximum;
}

/* All agree; whether they admit. */
static bool agreed(struct question asked)
{
    bool admitted = by_arithmetic(asked);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (answers(entries[i].decides, asked) && entries[i].decides(asked) != admitted)
            ck_abort_msg("%s differs: %" PRIu64 " + %" PRIu64 " in %" PRIu64
                         "s up to %" PRIu64,
                         entries[i].name, asked.start, asked.bytes, asked.alignment,
                         asked.maximum);
    return admitted;
}

static unsigned count_agreed(uint64_t maximum)
{
    unsigned admitted_count = 0;
    for (uint64_t start = 0; start <= maximum; start++)
        for (uint64_t bytes = 0; bytes <= maximum; bytes++)
            for (uint64_t alignment = 0; alignment <= maximum; alignment++)
                admitted_count +=
                    agreed((struct question){start, bytes, alignment, maximum});
    return admitted_count;
}

START_TEST(every_small_triple_has_one_verdict)
{
    ck_assert_uint_eq(count_agreed(15), 1296);
    ck_assert_uint_eq(count_agreed(31), 9715);
}
END_TEST

/* Near 0, near the end, near a power of two, or anywhere. */
static uint64_t interesting(uint64_t *seed)
{
    uint64_t little = draw(seed, 16), where = draw(seed, 4);
    if (where == 0)
        return little;
    if (where == 1)
        return UINT64_MAX - little;
    if (where == 2)
        return (UINT64_C(1) << draw(seed, 64)) - 8 + little;
    return draw(seed, UINT64_MAX);
}

START_TEST(random_64_bit_triples_have_one_verdict)
{
    enum { TRIPLES = 300000 };
    uint64_t seed = 31;
    unsigned admitted_count = 0;
    for (int i = 0; i < TRIPLES; i++) {
        struct question asked = {interesting(&seed), interesting(&seed),
                                 interesting(&seed), interesting(&seed)};
        if (draw(&seed, 2) == 0 && asked.alignment > 0)
            asked.start -= asked.start % asked.alignment;
        admitted_count += agreed(asked);
    }
    ck_assert_uint_gt(admitted_count, TRIPLES / 10);
    ck_assert_uint_lt(admitted_count, TRIPLES * 9 / 10);
}
END_TEST

/* Whether the packed area has `granules` more after `start`, of `area` in all. */
static bool by_packed_area(uint32_t start, uint32_t granules, uint32_t area)
{
    static struct pool_spans spans;
    static struct pool_record records[64];
    size_t bytes = (size_t)area << POOL_GRANULE_SHIFT;
    char *base = fake_source.reserve(bytes);
    bool due, fresh;
    ck_assert_ptr_nonnull(base);
    memset(&spans, 0, sizeof spans);
    memset(records, 0, sizeof records);
    pool_spans_open(&spans, base, area, records, &fake_source);
    if (start > 0)
        ck_assert_uint_ne(pool_spans_claim(&spans, start, &fresh, &due), 0);
    bool served = pool_spans_claim(&spans, granules, &fresh, &due) != 0;
    fake_source.release(base, bytes);
    return served;
}

START_TEST(the_packed_area_grows_by_the_same_verdict)
{
    enum { AREA = 16 };
    /* Its first granule is never handed out. */
    for (uint32_t start = 0; start < AREA; start++)
        for (uint32_t granules = 1; granules <= AREA + 1; granules++)
            ck_assert_int_eq(
                by_packed_area(start, granules, AREA),
                by_arithmetic((struct question){1 + start, granules, 1, AREA}));
}
END_TEST

enum {
    ROW_SHIFT = 30, /* rows of 1 GiB: no stride is larger */
    ROW_RECORDS = 32,
};

static struct pool_rows rows;

static void open_rows(void)
{
    static struct pool_record records[ROW_RECORDS];
    char *base = fake_source.reserve((size_t)POOL_ROW_COUNT << ROW_SHIFT);
    ck_assert_ptr_nonnull(base);
    ck_assert_uint_le(pool_rows_records(ROW_SHIFT), ROW_RECORDS);
    pool_rows_open(&rows, base, ROW_SHIFT, records, &fake_source);
}

/* A question in the unit by which blocks of rows become writable. */
static struct question in_pieces(uint64_t bytes, unsigned maximum_shift)
{
    return (struct question){0, bytes, UINT64_C(1) << POOL_ROW_ENABLE_SHIFT,
                             UINT64_C(1) << maximum_shift};
}

START_TEST(rows_are_claimed_and_grow_by_the_same_verdict)
{
    open_rows();
    for (unsigned shift = 0; shift < 64; shift++) {
        for (uint64_t bytes = (UINT64_C(1) << shift) - 1, end = bytes + 3; bytes != end;
             bytes++) {
            bool fresh;
            uint32_t index = pool_rows_claim(&rows, bytes, &fresh);
            ck_assert_int_eq(index != 0, by_arithmetic(in_pieces(bytes, ROW_SHIFT)));
            if (index != 0)
                ck_assert(pool_rows_return(&rows, index));
            /* Of the first row, until a larger claim takes it back. */
            index = pool_rows_claim(&rows, 1, &fresh);
            ck_assert_uint_ne(index, 0);
            uint64_t stride = UINT64_C(1) << POOL_ROW_FIRST_SHIFT;
            if (pool_rows_address(&rows, index) < rows.base + stride)
                ck_assert_int_eq(pool_rows_extend(&rows, index, bytes),
                                 by_arithmetic(in_pieces(bytes, POOL_ROW_FIRST_SHIFT)));
            ck_assert(pool_rows_return(&rows, index));
        }
    }
}
END_TEST

START_TEST(sizes_at_the_end_of_64_bits_are_refused_by_rows)
{
    open_rows();
    for (uint64_t bytes = UINT64_MAX; bytes > UINT64_MAX - 5; bytes--) {
        bool fresh;
        ck_assert_uint_eq(pool_rows_claim(&rows, bytes, &fresh), 0);
        ck_assert(!by_arithmetic(in_pieces(bytes, 63)));
    }
}
END_TEST

SUITE_MAIN("one verdict", every_small_triple_has_one_verdict,
           random_64_bit_triples_have_one_verdict,
           the_packed_area_grows_by_the_same_verdict,
           rows_are_claimed_and_grow_by_the_same_verdict,
           sizes_at_the_end_of_64_bits_are_refused_by_rows)
