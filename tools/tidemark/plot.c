#include "tools/tidemark/plot.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tidemark/say.h"

/* As gnuplot quotes: an apostrophe is doubled. */
static void put_quoted(FILE *plot, const char *text)
{
    fputc('\'', plot);
    for (; *text != '\0'; text++)
        fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, plot);
    fputc('\'', plot);
}

FILE *plot_open(const char *path)
{
    if (strchr(path, '\n') != NULL) {
        say("a plot's path must be one line");
        return NULL;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        say("%s: %s", path, strerror(errno));
        return NULL;
    }
    /* A gnuplot that is not there must be an error of ours, not a signal. */
    signal(SIGPIPE, SIG_IGN);
    FILE *plot = popen("exec gnuplot -", "we");
    if (plot == NULL) {
        say("gnuplot: %s", strerror(errno));
        return NULL;
    }
    fputs("set terminal svg size 900,420 dynamic background 'white'\nset output ", plot);
    put_quoted(plot, path);
    fputs("\nset grid ytics\nset key outside top horizontal\n", plot);
    return plot;
}

bool plot_close(FILE *plot, const char *path)
{
    struct stat file;

    if (pclose(plot) == 0 && stat(path, &file) == 0 && file.st_size > 0)
        return true;
    say("%s: gnuplot did not draw it; is the package gnuplot-nox installed?", path);
    return false;
}
