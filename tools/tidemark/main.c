/* The command `tidemark`: finds the verb and hands over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

static const struct verb {
    const char *name;
    const char *summary;
    int (*act)(int argc, char **argv);
} verbs[] = {
    {"run", "run a program with libtidemark.so preloaded", verb_run},
    {"admit", "say whether programs fit before they are started", verb_admit},
    {"plan", "place buffers in address spaces, and say what that takes", verb_plan},
    {"binds", "say what each bind of a recorded run cost", verb_binds},
    {"compare", "say whether one command or setting needs less than another",
     verb_compare},
    {"options", "list every option, its value here and where that came from",
     verb_options},
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static void print_short(FILE *stream)
{
    fputs("usage: tidemark VERB [OPTION]...\n"
          "       tidemark run -- PROGRAM [ARGUMENT]...\n"
          "`tidemark --help` lists the verbs.\n",
          stream);
}

static void print_help(void)
{
    puts("Tidemark keeps staging memory between uses and holds unmodified programs to "
         "memory\n"
         "ceilings.\n"
         "\n"
         "  tidemark run -- ./train --epochs 3\n"
         "  tidemark run --device-mem 8GiB --report stderr -- ./train\n"
         "  tidemark run --strict --report run.json --report-format json -- ./train\n"
         "  tidemark admit report.json --device-limit 0=48GiB\n"
         "  tidemark plan plan.json\n"
         "  tidemark run --binds run.jsonl -- ./train; tidemark binds run.jsonl\n"
         "  tidemark compare -- ./train --- tidemark run -- ./train\n"
         "  tidemark options\n"
         "\n"
         "Verbs (`tidemark VERB --help` tells more):");
    for (size_t i = 0; i < VERB_COUNT; i++)
        printf("  %-10s %s\n", verbs[i].name, verbs[i].summary);
    puts("\n"
         "Options:\n"
         "  --help     print this\n"
         "  --version  print the version\n"
         "\n"
         "Exit codes:\n"
         "  0    done; `run` exits with the program's own code, and dies of the signal "
         "that\n"
         "       ended the program (128+n in a shell)\n"
         "  1    there is no result, or it could not be written\n"
         "  2    the command line or an option's value cannot be understood\n"
         "  3    a request for memory was refused\n"
         "  4    a counter was not as --expect wanted it\n"
         "  126  the program cannot be executed, or --strict found the preload without "
         "effect\n"
         "  127  the program was not found");
}

static int refuse_word(const char *word)
{
    const char *known[VERB_COUNT + 2] = {"--help", "--version"};
    size_t known_count = 2;
    const char *what = word[0] == '-' ? "option" : "verb";

    for (size_t i = 0; i < VERB_COUNT; i++)
        known[known_count++] = verbs[i].name;
    const char *nearest = usage_nearest(word, known, known_count);
    if (nearest != NULL)
        say("%s: unknown %s; did you mean %s?", word, what, nearest);
    else
        say("%s: unknown %s; `tidemark --help` lists them", word, what);
    return VERB_USAGE;
}

static int act(int argc, char **argv)
{
    if (argc < 2) {
        print_short(stderr);
        return VERB_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0) {
        print_help();
        return VERB_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("tidemark " TIDEMARK_VERSION);
        return VERB_DONE;
    }
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].act(argc - 1, argv + 1);
    return refuse_word(argv[1]);
}

int main(int argc, char **argv)
{
    /* A line at a time, so that a line of ours is never torn by the program's own. */
    setvbuf(stderr, NULL, _IOLBF, 0);

    int status = act(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("standard output: %s", strerror(errno));
        return VERB_NO_OUTPUT;
    }
    return status;
}
