#include "tools/tidemark/admit_text.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_LENGTH = 13 }; /* of the first column */

static void put_label(struct pool_text *text, const char *label)
{
    pool_text_put(text, "  ");
    pool_text_put(text, label);
    for (size_t length = strlen(label); length < LABEL_LENGTH; length++)
        pool_text_put(text, " ");
}

static void put_amount(struct pool_text *text, const char *label, uint64_t bytes)
{
    put_label(text, label);
    pool_text_put_bytes(text, bytes);
    pool_text_put(text, "\n");
}

static void put_value(struct pool_text *text, const struct admit_value *value)
{
    if (value->origin == ADMIT_FROM_DEFAULT) {
        pool_text_put(text, value->text);
        pool_text_put(text, " by default");
        return;
    }
    pool_text_put(text, "from ");
    pool_text_put(text, value->name);
    pool_text_put(text, "=");
    pool_text_put(text, value->text);
}

static void put_outcome(struct pool_text *text, const struct admit_question *question,
                        const struct admit_answer *answer)
{
    const struct policy_verdict *verdict = &answer->verdict;

    if (admit_ceiling(answer)->source == POLICY_CEILING_UNBUDGETED) {
        pool_text_put(text, "admitted: unbudgeted, so no report was read\n");
        return;
    }
    if (verdict->kind == POLICY_ADMITTED) {
        pool_text_put(text, admit_is_fragile(question, answer)
                                ? "admitted, but at a contiguity risk: "
                                : "admitted: ");
        pool_text_put_bytes(text, verdict->limit_bytes - admit_total_bytes(answer));
        pool_text_put(text, " to spare\n");
        return;
    }
    pool_text_put(text, "refused: ");
    pool_text_put(text, verdict->kind == POLICY_OVER_CEILING && !answer->is_read
                            ? "what is resident leaves nothing under the ceiling"
                            : policy_verdict_sentence(verdict->kind));
    if (verdict->short_bytes > 0) {
        pool_text_put(text, ", short by ");
        pool_text_put(text, answer->is_read ? "" : "at least ");
        pool_text_put_bytes(text, verdict->short_bytes);
    }
    pool_text_put(text, answer->is_read ? "\n" : ", so no report was read\n");
}

static void put_requested(struct pool_text *text, const struct admit_question *question,
                          const struct admit_answer *answer)
{
    const struct policy_ceiling *ceiling = admit_ceiling(answer);

    put_label(text, "requested");
    if (ceiling->source == POLICY_CEILING_UNBUDGETED) {
        pool_text_put(text, !admit_is_blind(question, answer)
                                ? "no budget, "
                                : "what the device has, and no limit is known, ");
    } else {
        pool_text_put_bytes(text, ceiling->requested_bytes);
        pool_text_put(text, ", ");
    }
    put_value(text, &question->budget);
    pool_text_put(text, "\n");
}

static void put_device_label(struct pool_text *text, uint64_t index)
{
    char label[LABEL_LENGTH + 1];

    snprintf(label, sizeof label, "device %u", (unsigned)index);
    put_label(text, label);
}

/* Where devices have budgets of their own, each has its own ceiling. */
static void put_own_ceiling(struct pool_text *text, const struct admit_question *question,
                            const struct policy_ceiling *ceiling)
{
    if (question->requests.named == 0)
        return;
    pool_text_put(text, ", ceiling ");
    if (ceiling->source == POLICY_CEILING_UNBUDGETED)
        pool_text_put(text, "none");
    else
        pool_text_put_bytes(text, ceiling->bytes);
}

static void put_devices(struct pool_text *text, const struct admit_question *question,
                        const struct admit_answer *answer)
{
    for (size_t i = 0; i < question->device_count; i++) {
        put_device_label(text, question->devices[i].index);
        if (question->devices[i].limit_bytes == 0) {
            pool_text_put(text, "no limit is known, no cap");
        } else {
            pool_text_put(text, "limit ");
            pool_text_put_bytes(text, question->devices[i].limit_bytes);
            pool_text_put(text, ", headroom ");
            pool_text_put_bytes(text, answer->ceilings[i].headroom_bytes);
        }
        put_own_ceiling(text, question, &answer->ceilings[i]);
        pool_text_put(text, "\n");
    }
}

static void put_effective(struct pool_text *text, const struct admit_question *question,
                          const struct admit_answer *answer)
{
    const struct policy_ceiling *ceiling = admit_ceiling(answer);

    put_label(text, "effective");
    if (ceiling->source == POLICY_CEILING_UNBUDGETED) {
        pool_text_put(text, "unbudgeted\n");
        return;
    }
    pool_text_put_bytes(text, ceiling->bytes);
    if (ceiling->source == POLICY_CEILING_FROM_REQUEST) {
        pool_text_put(text, ", no cap applied\n");
        return;
    }
    pool_text_put(text, ceiling->source == POLICY_CEILING_FROM_CAP
                            ? ", capped to what headroom leaves of device "
                            : ", what headroom leaves of device ");
    pool_text_put_number(text, question->devices[answer->least].index);
    pool_text_put(text, "\n");
}

/* " on device 0", nothing for every device. */
static void put_place(struct pool_text *text, const char *device)
{
    if (device[0] == '\0')
        return;
    pool_text_put(text, " on device ");
    pool_text_put(text, device);
}

static void put_term(struct pool_text *text, const char *words,
                     const struct admit_record *record, enum policy_counter counter)
{
    pool_text_put(text, words);
    pool_text_put_number(text, record->counters.bytes[counter]);
}

static void put_record(struct pool_text *text, const char *path,
                       const struct admit_record *record)
{
    put_label(text, "program");
    pool_text_put(text, path);
    put_place(text, record->device);
    pool_text_put(text, ": ");
    if (record->is_reserved)
        pool_text_put_bytes(text, record->reservation.bytes);
    else
        pool_text_put(text, "beyond 64 bits");
    if (record->is_total) {
        pool_text_put(text, ", the total\n");
        return;
    }
    put_term(text, " = max(peak ", record, POLICY_COUNTER_PEAK);
    put_term(text, ", argument ", record, POLICY_COUNTER_ARGUMENT);
    put_term(text, " + output ", record, POLICY_COUNTER_OUTPUT);
    put_term(text, " - alias ", record, POLICY_COUNTER_ALIAS);
    put_term(text, " + temp ", record, POLICY_COUNTER_TEMP);
    pool_text_put(text, ")\n");
}

static void put_programs(struct pool_text *text, const struct admit_question *question,
                         const struct admit_answer *answer)
{
    for (size_t i = 0; i < question->path_count; i++)
        for (size_t j = 0; j < answer->reports[i].record_count; j++)
            put_record(text, answer->reports[i].path, &answer->reports[i].records[j]);
}

static void put_reservation(struct pool_text *text, const struct admit_answer *answer)
{
    put_label(text, "reservation");
    if (answer->is_reserved)
        pool_text_put_bytes(text, answer->most.bytes);
    else
        pool_text_put(text, "beyond 64 bits");
    put_place(text, answer->bytes_device);
    pool_text_put(text, "\n");
    if (!answer->is_reserved)
        return;
    put_label(text, "raw peak");
    pool_text_put_bytes(text, answer->most.peak_bytes);
    put_place(text, answer->peak_device);
    pool_text_put(text, "\n");
}

static void put_contiguity(struct pool_text *text, const struct admit_question *question,
                           const struct admit_answer *answer)
{
    if (!answer->is_reserved || question->largest_block_bytes == UINT64_MAX)
        return;
    put_label(text, "contiguity");
    pool_text_put(text, "largest request ");
    if (answer->most.largest_request_bytes == 0)
        pool_text_put(text, "not known");
    else
        pool_text_put_bytes(text, answer->most.largest_request_bytes);
    pool_text_put(text, ", largest block ");
    pool_text_put_bytes(text, question->largest_block_bytes);
    pool_text_put(text, "\n");
}

static void put_remedies(struct pool_text *text, const struct admit_question *question,
                         const struct admit_answer *answer)
{
    static const char *const remedies[] = {
        "let the pool take all at its start: no XLA_PYTHON_CLIENT_PREALLOCATE=false",
        "let the pool of the driver serve it: XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
    };

    if (answer->verdict.kind != POLICY_GROWING_POOL)
        return;
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        put_label(text, "remedy");
        pool_text_put(text, remedies[i]);
        pool_text_put(text, "\n");
    }
    put_label(text, "remedy");
    pool_text_put(text, "name a size: ");
    pool_text_put(text, question->budget.name);
    pool_text_put(text, "=SIZE\n");
}

void admit_text_put(struct pool_text *text, const struct admit_question *question,
                    const struct admit_answer *answer)
{
    put_outcome(text, question, answer);
    put_requested(text, question, answer);
    put_label(text, "headroom");
    put_value(text, &question->headroom);
    pool_text_put(text, "\n");
    put_devices(text, question, answer);
    put_effective(text, question, answer);
    if (answer->is_read) {
        put_programs(text, question, answer);
        put_reservation(text, answer);
    }
    put_amount(text, "resident", question->resident_bytes);
    if (admit_has_total(answer))
        put_amount(text, "total", admit_total_bytes(answer));
    put_contiguity(text, question, answer);
    put_remedies(text, question, answer);
}
