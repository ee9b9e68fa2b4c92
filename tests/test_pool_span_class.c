/* Defends: classes are four to an octave, a length is served by the smallest class that holds
   it, and fits the largest that it holds. */
#include "pool/span_class.h"

#include "tests/suite.h"

static const uint32_t classes[POOL_SPAN_CLASSES] = {
    1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,  32,
    40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512,
};

START_TEST(the_classes_are_these)
{
    for (uint32_t i = 0; i < POOL_SPAN_CLASSES; i++) {
        ck_assert_uint_eq(pool_span_class_granules(i), classes[i]);
        ck_assert_uint_eq(pool_span_class(classes[i]), i);
        ck_assert_uint_eq(pool_span_class_within(classes[i]), i);
    }
    ck_assert_uint_eq(classes[POOL_SPAN_CLASSES - 1], POOL_SPAN_MOST_GRANULES);
}
END_TEST

START_TEST(a_length_between_two_classes_is_served_by_the_upper_and_fits_the_lower)
{
    for (uint32_t i = 1; i < POOL_SPAN_CLASSES; i++) {
        for (uint32_t granules = classes[i - 1] + 1; granules < classes[i]; granules++) {
            ck_assert_uint_eq(pool_span_class(granules), i);
            ck_assert_uint_eq(pool_span_class_within(granules), i - 1);
        }
    }
}
END_TEST

START_TEST(a_length_beyond_the_last_class_fits_the_last)
{
    ck_assert_uint_eq(pool_span_class_within(513), POOL_SPAN_CLASSES - 1);
    ck_assert_uint_eq(pool_span_class_within(UINT32_MAX), POOL_SPAN_CLASSES - 1);
}
END_TEST

START_TEST(the_octave_of_a_class_is_that_of_its_granules_and_at_least_the_first)
{
    ck_assert_uint_eq(pool_span_class_octave(0), 1);
    for (uint32_t i = 1; i < POOL_SPAN_CLASSES; i++) {
        ck_assert_uint_le(UINT32_C(1) << pool_span_class_octave(i), classes[i]);
        ck_assert_uint_gt(UINT32_C(2) << pool_span_class_octave(i), classes[i]);
    }
}
END_TEST

SUITE_MAIN("pool/span_class", the_classes_are_these,
           a_length_between_two_classes_is_served_by_the_upper_and_fits_the_lower,
           a_length_beyond_the_last_class_fits_the_last,
           the_octave_of_a_class_is_that_of_its_granules_and_at_least_the_first)
