# Real programs, unmodified, agree with their plain run: at default settings, switched off, and
# without a ceiling. tests/programs.sh says which were not installed.
function(tidemark_programs_test name)
  add_test(NAME ${name}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/programs.sh ${CMAKE_BINARY_DIR}/libtidemark.so ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()

tidemark_programs_test(programs_default)
tidemark_programs_test(programs_off TIDEMARK=off)
tidemark_programs_test(programs_no_ceiling TIDEMARK_DEVICE_MEM=none)
tidemark_programs_test(programs_heap_ceiling TIDEMARK_HEAP_MEM=100%)
