/* Defends: blocks of one class differ by less than an eighth, and what may serve a request lies
   in its own class or the next, but for little. */
#include "pool/device_class.h"

#include "tests/suite.h"

START_TEST(classes_follow_each_other_and_begin_with_their_own_size)
{
    ck_assert_uint_eq(pool_device_class(1), 0);
    ck_assert_uint_eq(pool_device_class(511), 0);
    for (uint32_t size_class = 1; size_class < POOL_DEVICE_CLASSES; size_class++) {
        uint64_t first = pool_device_class_bytes(size_class);
        ck_assert_uint_eq(pool_device_class(first), size_class);
        ck_assert_uint_eq(pool_device_class(first - 1), size_class - 1);
    }
    ck_assert_uint_eq(pool_device_class(UINT64_C(1) << 42), POOL_DEVICE_CLASSES);
    ck_assert_uint_ge(pool_device_class(UINT64_MAX), POOL_DEVICE_CLASSES);
}
END_TEST

START_TEST(the_largest_block_of_a_class_serves_its_smallest_request)
{
    for (uint32_t size_class = 1; size_class + 1 < POOL_DEVICE_CLASSES; size_class++)
        ck_assert(pool_device_fits(pool_device_class_bytes(size_class + 1) - 1,
                                   pool_device_class_bytes(size_class)));
}
END_TEST

START_TEST(a_block_serves_what_it_exceeds_by_an_eighth_and_no_less)
{
    ck_assert(pool_device_fits(1000, 1000));
    ck_assert(!pool_device_fits(999, 1000));
    ck_assert(pool_device_fits(1125, 1000));
    ck_assert(!pool_device_fits(1126, 1000));
    ck_assert(pool_device_fits(7, 7));
    ck_assert(!pool_device_fits(8, 7));
    ck_assert(pool_device_fits(9, 8));
    ck_assert(pool_device_fits(UINT64_MAX, UINT64_MAX - 5));
    ck_assert(!pool_device_fits(UINT64_MAX - 5, UINT64_MAX));
}
END_TEST

START_TEST(nearly_all_that_fits_lies_in_two_classes)
{
    uint64_t beyond = 0, all = 0;
    for (uint64_t bytes = 4096; bytes < 4 * 4096; bytes += 8)
        for (uint64_t block = bytes; pool_device_fits(block, bytes); block += 8) {
            uint32_t up = pool_device_class(block) - pool_device_class(bytes);
            ck_assert_uint_le(up, 2);
            beyond += up == 2;
            all++;
        }
    ck_assert_uint_lt(beyond, all / 6);
}
END_TEST

SUITE_MAIN("pool/device_class", classes_follow_each_other_and_begin_with_their_own_size,
           the_largest_block_of_a_class_serves_its_smallest_request,
           a_block_serves_what_it_exceeds_by_an_eighth_and_no_less,
           nearly_all_that_fits_lies_in_two_classes)
