/* Questions to a driver (questions.def): what each asks with, and how it replies. */
#ifndef TESTS_GPU_ANSWERS_H
#define TESTS_GPU_ANSWERS_H

#include "tests/gpu/probe.h"

#define QUESTION(name, when, text) void ask_##name(void);
#include "tests/gpu/questions.def"
#undef QUESTION

/* Adds to the answer. */
void reply(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What outputs hold that no call has written to: nothing else that is handed out ends so. */
enum { UNTOUCHED = 0xdeadb };

/* "RESULT", and what became of an output that has to be left alone by a refusal. */
void reply_output(CUresult result, uint64_t output);

/* A block of so many bytes; the program ends where there is none. */
CUdeviceptr block_of(size_t bytes);
void *pinned_of(size_t bytes);

/* A block that was freed: its address means nothing any more. */
CUdeviceptr freed_block(void);

#endif
