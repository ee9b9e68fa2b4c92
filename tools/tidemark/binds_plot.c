/* The sequence, bind by bind, so that cold, decay and steady are seen. */
#include <inttypes.h>

#include "tools/tidemark/binds_print.h"
#include "tools/tidemark/plot.h"

bool binds_plot(const struct binds_result *result, const char *path)
{
    const struct binds_file *file = result->file;
    const char *figure = binds_figure_names[result->figure];
    FILE *plot = plot_open(path);

    if (plot == NULL)
        return false;
    fprintf(plot,
            "set xlabel 'bind'\nset xrange [0.5:%zu.5]\n"
            "set ylabel '%s' noenhanced\nset yrange [0:*]\n"
            "set style fill solid 0.6\nset boxwidth 0.8\n"
            "plot '-' with boxes title '%s' noenhanced\n",
            file->bind_count, figure, figure);
    for (size_t i = 0; i < file->bind_count; i++)
        if (file->binds[i].figures[result->figure] != BINDS_UNKNOWN)
            fprintf(plot, "%zu %" PRIu64 "\n", i + 1,
                    file->binds[i].figures[result->figure]);
    fputs("e\n", plot);
    return plot_close(plot, path);
}
