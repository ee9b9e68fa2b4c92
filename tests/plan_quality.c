/* Defends: a plan is nearly as low as its lower bound, peak live, and is made in a moment.
   What is asserted was measured, with a margin. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/placement_fixture.h"
#include "tools/tidemark/plan_decide.h"

static double ratio_of(const struct policy_high_water *result)
{
    return (double)result->logical_high_water_bytes / (double)result->peak_live_bytes;
}

/* Places the sample plan of this name, and says how well. */
static void is_within_a_tenth(const char *name)
{
    char path[4096];
    struct plan sample;
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s.json", PLANS_FOLDER, name),
                     (int)sizeof path);
    ck_assert(plan_file_read(path, &sample));
    ck_assert(plan_decide(&sample));
    ck_assert(plan_is_placed(&sample));
    ck_assert_uint_eq(sample.space_count, 1);
    ck_assert_uint_ge(sample.buffer_count, 30);
    double ratio = ratio_of(&sample.spaces[0].high_water);
    printf("%-16s %4zu buffers, %.3f of peak live\n", name, sample.buffer_count, ratio);
    ck_assert_double_le(ratio, 1.1);
    plan_file_free(&sample);
}

START_TEST(plans_of_real_models_are_within_a_tenth_of_peak_live)
{
    static const char *const names[] = {
        "bert_base_layer", "diffusion_block", "dlrm_mlp", "gpt2_small", "lstm",
        "mobilenet_v2",    "resnet50",        "unet",     "vgg16",      "vit_base"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_within_a_tenth(names[i]);
}
END_TEST

/* Sizes of one order of magnitude, and lives of any length up to a quarter of the whole:
   the hardest to fit. */
static void draw_hard_buffers(uint64_t *seed, struct policy_buffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t start = draw(seed, 2 * count);
        buffers[i] = (struct policy_buffer){1 + draw(seed, 1000), 1, start,
                                            start + 1 + draw(seed, count / 2)};
    }
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A way to draw buffers. */
typedef void (*draw_function)(uint64_t *seed, struct policy_buffer *buffers,
                              size_t count);

enum { PLANS = 1000, LEAST = 20, MOST = 200 };

static double ratios[PLANS];

/* Places random plans of one kind. */
static void place_random(size_t from, size_t end, draw_function draw_them)
{
    static struct policy_buffer buffers[MOST];
    uint64_t seed = 21;
    for (size_t i = from; i < end; i++) {
        size_t count = LEAST + draw(&seed, MOST - LEAST + 1);
        draw_them(&seed, buffers, count);
        ck_assert_int_eq(plan(&unlimited, buffers, count).verdict.kind, POLICY_ADMITTED);
        ratios[i] = ratio_of(&high_water);
    }
}

/* Says how well the plans were placed. */
static void say(const char *kind, size_t from, size_t end)
{
    size_t count = end - from;
    qsort(ratios + from, count, sizeof *ratios, ascending);
    printf("%zu %s plans: median %.4f, worst %.4f of peak live\n", count, kind,
           (ratios[from + (count - 1) / 2] + ratios[from + count / 2]) / 2,
           ratios[end - 1]);
}

START_TEST(a_thousand_random_plans_are_within_a_tenth_of_peak_live)
{
    place_random(0, PLANS / 2, draw_buffers);
    place_random(PLANS / 2, PLANS, draw_hard_buffers);
    say("mixed", 0, PLANS / 2);
    say("hard", PLANS / 2, PLANS);
    say("random", 0, PLANS);
    ck_assert_double_le((ratios[PLANS / 2 - 1] + ratios[PLANS / 2]) / 2, 1.01);
    ck_assert_double_le(ratios[PLANS - 1], 1.1);
}
END_TEST

/* Places a large plan, and says how well and in how much CPU time, so that what else runs
   here does not count. */
static void is_placed_in_a_moment(const char *kind, draw_function draw_them, double most)
{
    static struct policy_buffer buffers[MOST_BUFFERS];
    uint64_t seed = 22;
    draw_them(&seed, buffers, MOST_BUFFERS);
    clock_t start = clock();
    ck_assert_int_eq(plan(&unlimited, buffers, MOST_BUFFERS).verdict.kind,
                     POLICY_ADMITTED);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%d %s buffers: %.2f s, %.4f of peak live\n", MOST_BUFFERS, kind, seconds,
           ratio_of(&high_water));
    ck_assert_double_le(ratio_of(&high_water), most);
#ifdef NDEBUG
    ck_assert_double_lt(seconds, 1);
#endif
}

START_TEST(ten_thousand_buffers_take_less_than_a_second)
{
    is_placed_in_a_moment("mixed", draw_buffers, 1.06);
    is_placed_in_a_moment("hard", draw_hard_buffers, 1.05);
}
END_TEST

SUITE_MAIN("plan_quality", plans_of_real_models_are_within_a_tenth_of_peak_live,
           a_thousand_random_plans_are_within_a_tenth_of_peak_live,
           ten_thousand_buffers_take_less_than_a_second)
