/* B / A in each round, so that a drift, an outlier or a disagreement is seen. */
#include "tools/tidemark/compare_print.h"
#include "tools/tidemark/plot.h"

/* Ratios need an A above 0 in every round. */
static bool has_ratio(const struct compare_rounds *rounds, int measure)
{
    for (size_t i = 0; i < rounds->count; i++)
        if (rounds->samples[COMPARE_A][i].values[measure] <= 0)
            return false;
    return true;
}

static void put_ratios(FILE *plot, const struct compare_rounds *rounds, int measure)
{
    for (size_t i = 0; i < rounds->count; i++)
        fprintf(plot, "%zu %.9g\n", i + 1,
                rounds->samples[COMPARE_B][i].values[measure] /
                    rounds->samples[COMPARE_A][i].values[measure]);
    fputs("e\n", plot);
}

bool compare_plot(const struct compare_result *result, const char *path)
{
    static const int drawn[] = {COMPARE_wall_us, COMPARE_cpu_us, COMPARE_minor_faults};
    enum { DRAWN = sizeof drawn / sizeof drawn[0] };
    FILE *plot = plot_open(path);

    if (plot == NULL)
        return false;
    fputs("set xlabel 'round'\nset ylabel 'B / A'\nset yrange [0:*]\nplot 1 lc 'gray' "
          "notitle",
          plot);
    for (int i = 0; i < DRAWN; i++)
        if (has_ratio(result->rounds, drawn[i]))
            fprintf(plot, ", '-' with linespoints title '%s'",
                    compare_headings[drawn[i]]);
    fputc('\n', plot);
    for (int i = 0; i < DRAWN; i++)
        if (has_ratio(result->rounds, drawn[i]))
            put_ratios(plot, result->rounds, drawn[i]);
    return plot_close(plot, path);
}
