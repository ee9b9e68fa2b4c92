/* Asks the questions, and gives each answer a line of its own. */
#include "tests/gpu/answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum when { BEFORE, BARE, OPEN, APART };

static const struct question {
    const char *name;
    enum when when;
    const char *text;
    void (*ask)(void);
} questions[] = {
#define QUESTION(name, when, text) {#name, when, text, ask_##name},
#include "tests/gpu/questions.def"
#undef QUESTION
};

enum { QUESTIONS = sizeof questions / sizeof *questions };

void reply(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

void reply_output(CUresult result, uint64_t output)
{
    const char *became = output == UNTOUCHED ? "untouched"
                         : output == 0       ? "0"
                                             : "written";
    if (result == CUDA_SUCCESS)
        reply("0%s", output == UNTOUCHED ? ", untouched" : output == 0 ? ", gave 0" : "");
    else
        reply("%d, output %s", result, became);
}

CUdeviceptr block_of(size_t bytes)
{
    CUdeviceptr address;
    CUresult result = driver.cuMemAlloc_v2(&address, bytes);
    if (result != CUDA_SUCCESS)
        probe_fail(PROBE_FAILED, "cuMemAlloc_v2 answers %d", result);
    return address;
}

void *pinned_of(size_t bytes)
{
    void *address;
    CUresult result = driver.cuMemAllocHost_v2(&address, bytes);
    if (result != CUDA_SUCCESS)
        probe_fail(PROBE_FAILED, "cuMemAllocHost_v2 answers %d", result);
    return address;
}

CUdeviceptr freed_block(void)
{
    CUdeviceptr address =
        block_of(8 << 20); /* of pages of its own, which the driver gives up */
    (void)driver.cuMemFree_v2(address);
    return address;
}

/* Written out before the question is asked, and after: a driver may end the process. */
static void ask(const struct question *question)
{
    printf("answer\t%s\t%s\t", question->name, question->text);
    fflush(stdout);
    question->ask();
    putchar('\n');
    fflush(stdout);
}

static void ask_all(enum when when)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        if (questions[i].when == when)
            ask(&questions[i]);
}

void probe_answers(void)
{
    ask_all(BEFORE);
    if (driver.cuInit(0) != CUDA_SUCCESS)
        probe_fail(PROBE_TROUBLE, "no device");
    ask_all(BARE);
    probe_open();
    ask_all(OPEN);
}

void probe_apart(void)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        if (questions[i].when == APART)
            puts(questions[i].name);
}

bool probe_answer(const char *name)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        if (questions[i].when == APART && strcmp(questions[i].name, name) == 0) {
            probe_open();
            ask(&questions[i]);
            return true;
        }
    return false;
}
