#include "tools/tidemark/admit_decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tidemark/say.h"

static struct admit_value value_of(const struct policy_option_value *value,
                                   enum policy_option_id id, const char *option)
{
    struct admit_value result = {value->text, policy_option_rows[id].environment,
                                 ADMIT_FROM_DEFAULT};

    if (option != NULL) {
        result.name = option;
        result.origin = ADMIT_FROM_OPTION;
    } else if (value->origin != POLICY_ORIGIN_DEFAULT) {
        result.origin = ADMIT_FROM_ENVIRONMENT;
    }
    return result;
}

void admit_ask(struct admit_question *question, const struct policy_options *options,
               const struct policy_option_value values[POLICY_OPTION_COUNT],
               const char *budget_option, const char *headroom_option)
{
    *question = (struct admit_question){
        .budget = value_of(&values[POLICY_OPTION_device_mem], POLICY_OPTION_device_mem,
                           budget_option),
        .headroom = value_of(&values[POLICY_OPTION_headroom], POLICY_OPTION_headroom,
                             headroom_option),
        .requests = options->device_mem,
        .fraction = options->headroom,
        .largest_block_bytes = UINT64_MAX,
    };
}

static void add_device(struct admit_question *question, uint64_t index,
                       const struct admit_devices *limits)
{
    const struct admit_device *limit = admit_devices_find(limits, index);
    question->devices[question->device_count++] = (struct admit_device){
        .index = index,
        .limit_bytes = limit != NULL ? limit->limit_bytes : 0,
    };
}

void admit_ask_devices(struct admit_question *question,
                       const struct admit_devices *selected,
                       const struct admit_devices *limits)
{
    const struct admit_devices *devices = selected->count > 0 ? selected : limits;

    for (size_t i = 0; i < devices->count; i++)
        add_device(question, devices->list[i].index, limits);
    for (unsigned i = 0; devices->count == 0 && i < POLICY_CEILINGS_DEVICES; i++)
        if (question->requests.named >> i & 1)
            add_device(question, i, limits);
}

static const struct policy_ceiling_request *
request_on(const struct admit_question *question, size_t device)
{
    return question->device_count > 0
               ? policy_ceilings_of(&question->requests, question->devices[device].index)
               : &question->requests.others;
}

/* Without a device the request alone decides. */
static void resolve(const struct admit_question *question, struct admit_answer *answer)
{
    size_t count = question->device_count > 0 ? question->device_count : 1;

    for (size_t i = 0; i < count; i++)
        answer->ceilings[i] =
            policy_ceiling_resolve(request_on(question, i), question->fraction,
                                   question->devices[i].limit_bytes);
    answer->least = policy_admit_least(answer->ceilings, count);
}

static bool read_reports(const struct admit_question *question,
                         struct admit_answer *answer)
{
    answer->reports = calloc(question->path_count, sizeof *answer->reports);
    if (answer->reports == NULL) {
        say("%s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < question->path_count; i++)
        if (!admit_report_read(question->paths[i], &answer->reports[i]))
            return false;
    answer->is_read = true;
    return true;
}

/* The report that names the devices; the first where none does. */
static const struct admit_report *find_devices(const struct admit_question *question,
                                               const struct admit_answer *answer)
{
    for (size_t i = 0; i < question->path_count; i++)
        if (answer->reports[i].records[0].device[0] != '\0')
            return &answer->reports[i];
    return &answer->reports[0];
}

/* A program that a report leaves out on a device may take anything there, not nothing. */
static bool names_each_device(const struct admit_report *report,
                              const struct admit_report *devices)
{
    for (size_t i = 0; i < devices->record_count; i++) {
        const char *device = devices->records[i].device;
        if (admit_report_find(report, device) != NULL)
            continue;
        say("%s: device %s is absent, and %s has it: a program that takes nothing there "
            "needs a record of zeros",
            report->path, device, devices->path);
        return false;
    }
    return true;
}

static bool devices_agree(const struct admit_question *question,
                          const struct admit_answer *answer,
                          const struct admit_report *devices)
{
    for (size_t i = 0; i < question->path_count; i++) {
        const struct admit_report *report = &answer->reports[i];
        bool is_everywhere = report->records[0].device[0] == '\0';
        if (!names_each_device(report, devices) ||
            (!is_everywhere && !names_each_device(devices, report)))
            return false;
    }
    return true;
}

/* What all programs together reserve on one device. */
static bool sum_up(const struct admit_question *question,
                   const struct admit_answer *answer, const char *device,
                   struct policy_reservation *sum)
{
    *sum = (struct policy_reservation){.bytes = 0};
    for (size_t i = 0; i < question->path_count; i++) {
        const struct admit_record *record =
            admit_report_find(&answer->reports[i], device);
        if (!record->is_reserved || !policy_reservation_add(sum, &record->reservation))
            return false;
    }
    return true;
}

static void find_most(const struct admit_question *question, struct admit_answer *answer,
                      const struct admit_report *devices)
{
    answer->bytes_device = answer->peak_device = devices->records[0].device;
    for (size_t i = 0; i < devices->record_count; i++) {
        const char *device = devices->records[i].device;
        struct policy_reservation sum;
        if (!sum_up(question, answer, device, &sum)) {
            answer->bytes_device = device;
            return;
        }
        if (sum.bytes > answer->most.bytes)
            answer->bytes_device = device;
        if (sum.peak_bytes > answer->most.peak_bytes)
            answer->peak_device = device;
        policy_reservation_widen(&answer->most, &sum);
    }
    answer->is_reserved = true;
}

/* The verdict once the reports are known. */
static struct policy_verdict judge(const struct admit_question *question,
                                   const struct admit_answer *answer)
{
    if (answer->is_reserved)
        return policy_admit(admit_ceiling(answer), question->resident_bytes,
                            &answer->most);
    return (struct policy_verdict){
        .kind = POLICY_SIZE_OVERFLOW,
        .held_bytes = question->resident_bytes,
        .limit_bytes = admit_ceiling(answer)->bytes,
    };
}

enum verb_exit admit_decide(const struct admit_question *question,
                            struct admit_answer *answer)
{
    *answer = (struct admit_answer){.bytes_device = "", .peak_device = ""};
    resolve(question, answer);
    const struct policy_ceiling *ceiling = admit_ceiling(answer);
    if (ceiling->source == POLICY_CEILING_UNBUDGETED)
        return VERB_DONE;
    answer->verdict =
        policy_admit_early(ceiling, question->pool_grows, question->resident_bytes);
    if (answer->verdict.kind != POLICY_ADMITTED)
        return VERB_REFUSED;
    if (!read_reports(question, answer))
        return VERB_USAGE;
    const struct admit_report *devices = find_devices(question, answer);
    if (!devices_agree(question, answer, devices))
        return VERB_USAGE;
    find_most(question, answer, devices);
    answer->verdict = judge(question, answer);
    return answer->verdict.kind == POLICY_ADMITTED ? VERB_DONE : VERB_REFUSED;
}

const struct policy_ceiling_request *admit_request(const struct admit_question *question,
                                                   const struct admit_answer *answer)
{
    return request_on(question, answer->least);
}

bool admit_is_blind(const struct admit_question *question,
                    const struct admit_answer *answer)
{
    return admit_ceiling(answer)->source == POLICY_CEILING_UNBUDGETED &&
           admit_request(question, answer)->kind != POLICY_CEILING_NONE;
}

const struct policy_ceiling *admit_ceiling(const struct admit_answer *answer)
{
    return &answer->ceilings[answer->least];
}

bool admit_has_total(const struct admit_answer *answer)
{
    return answer->is_reserved && answer->verdict.kind != POLICY_SIZE_OVERFLOW;
}

uint64_t admit_total_bytes(const struct admit_answer *answer)
{
    return answer->verdict.held_bytes + answer->verdict.reserved_bytes;
}

bool admit_is_fragile(const struct admit_question *question,
                      const struct admit_answer *answer)
{
    return answer->is_reserved &&
           policy_admit_is_fragile(&answer->most, question->largest_block_bytes);
}

void admit_answer_free(const struct admit_question *question, struct admit_answer *answer)
{
    for (size_t i = 0; answer->reports != NULL && i < question->path_count; i++)
        admit_report_free(&answer->reports[i]);
    free(answer->reports);
    answer->reports = NULL;
}
