/* The verbs of the command and the exit codes they share. A verb gets its own name as
   argv[0]; what it returns is what the command exits with. */
#ifndef TIDEMARK_VERB_H
#define TIDEMARK_VERB_H

enum verb_exit {
    VERB_DONE = 0,
    VERB_NO_OUTPUT = 1,        /* there is no result, or it could not be written */
    VERB_USAGE = 2,            /* a command line or a value that cannot be understood */
    VERB_REFUSED = 3,          /* a question about admission was answered with no */
    VERB_UNEXPECTED = 4,       /* a counter was not as --expect wanted it */
    VERB_CANNOT_EXECUTE = 126, /* as a shell has it; --strict uses it as well */
    VERB_NOT_FOUND = 127,      /* as a shell has it */
};

int verb_run(int argc, char **argv);
int verb_admit(int argc, char **argv);
int verb_plan(int argc, char **argv);
int verb_binds(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_options(int argc, char **argv);

#endif
