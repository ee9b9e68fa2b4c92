# What bench/ computes, not what it measures.
tidemark_unit_test(test_bench_estimate)
target_sources(test_bench_estimate PRIVATE ${CMAKE_SOURCE_DIR}/bench/estimate.c)
