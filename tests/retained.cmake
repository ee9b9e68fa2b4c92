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
retained_test(preload_retained_capture preload_retained_capture)
retained_test(preload_retained_room preload_retained_room
  TIDEMARK_DEVICE_MEM=8MiB TIDEMARK_PINNED_MEM=8MiB TIDEMARK_HEADROOM=0)
retained_test(preload_retained_driver preload_retained_driver)
retained_test(preload_free_sync preload_free_sync TIDEMARK_FREE_SYNC=1)
foreach(contents dirty zero poison)
  retained_test(preload_reuse_${contents} preload_reuse TIDEMARK_REUSE=${contents} REUSED=${contents})
endforeach()

# Random schedules; and the same under a build of the library that lacks the rule of readiness, which
# must go wrong, or the test would prove nothing.
retained_test(preload_schedules preload_schedules)
set_tests_properties(preload_schedules preload_schedules_without_events PROPERTIES TIMEOUT 600)
get_target_property(shim_libraries shim LINK_LIBRARIES)
get_target_property(shim_options shim LINK_OPTIONS)
add_library(shim_broken SHARED $<TARGET_OBJECTS:shim> ../pool/devices.c)
set_source_files_properties(../pool/devices.c TARGET_DIRECTORY shim_broken PROPERTIES
  INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR}/broken)
target_link_libraries(shim_broken PRIVATE ${shim_libraries})
target_link_options(shim_broken PRIVATE ${shim_options})
set_target_properties(shim_broken PROPERTIES OUTPUT_NAME tidemark-broken
  INTERPROCEDURAL_OPTIMIZATION ${TIDEMARK_LTO} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(shim_broken shim)
add_test(NAME preload_schedules_broken COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/preload_schedules_broken.sh
  ${CMAKE_BINARY_DIR})
set_tests_properties(preload_schedules_broken PROPERTIES TIMEOUT 120)

tidemark_script_test(preload_inspected preload_inspected.sh ${CMAKE_BINARY_DIR})
