if(NOT TIDEMARK_SANITIZE)
  add_test(NAME bench_paired
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_paired.sh ${CMAKE_BINARY_DIR})
  add_test(NAME bench_sequence
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_sequence.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(bench_sequence PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME bench_peers
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_peers.sh ${CMAKE_BINARY_DIR})
  add_test(NAME bench_lookups
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_lookups.sh ${CMAKE_BINARY_DIR})
  add_test(NAME bench_retained
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_retained.sh ${CMAKE_BINARY_DIR})
  add_test(NAME bench_pairs
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench_pairs.sh ${CMAKE_BINARY_DIR})
endif()
