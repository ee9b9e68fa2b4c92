# Retained device and page-locked memory, on the newest simulated driver and on one that cannot
# record events over contexts.
set(retained_environment
  "LD_PRELOAD=${LIBRARY};TIDEMARK_DEVICE_MEM=none;TIDEMARK_DEVICE_RETAIN=100%;TIDEMARK_PINNED_RETAIN=100%")

# retained_test(name SOURCE [NAME=VALUE...]): tests/SOURCE.c on both.
function(retained_test name source)
  foreach(driver simcuda simcuda-12.2)
    set(test ${name})
    if(NOT driver STREQUAL simcuda)
      set(test ${name}_without_events)
    endif()
    add_executable(${test} ${source}.c)
    target_link_libraries(${test} PRIVATE tidemark_flags PkgConfig::CHECK ${CMAKE_DL_LIBS})
    set_target_properties(${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_dependencies(${test} simcuda shim)
    target_compile_definitions(${test} PRIVATE SIM_MAY_LACK
      SIMCUDA_PATH="${CMAKE_BINARY_DIR}/${driver}/libcuda.so.1")
    add_test(NAME ${test} COMMAND ${test})
    set_tests_properties(${test} PROPERTIES TIMEOUT 120 ENVIRONMENT "${retained_environment};${ARGN}")
  endforeach()
endfunction()

retained_test(preload_retained preload_retained)
