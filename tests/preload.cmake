# The library preloaded into whole programs.
set(LIBRARY ${CMAKE_BINARY_DIR}/libtidemark.so)

# tidemark_script_test(name script [argument...])
function(tidemark_script_test name script)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

# The same assertions plain, preloaded, under a ceiling that nothing reaches, and switched off.
foreach(name host_contract host_family)
  add_executable(${name} preload/${name}.c)
  target_link_libraries(${name} PRIVATE tidemark_flags PkgConfig::CHECK Threads::Threads)
  # They use blocks after a realloc that must have failed, and names that no header declares.
  target_compile_options(${name} PRIVATE -fno-builtin
    $<$<C_COMPILER_ID:GNU>:-Wno-alloc-size-larger-than -Wno-use-after-free>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(mode plain preloaded limited off)
    add_test(NAME ${name}_${mode} COMMAND ${name})
    set_tests_properties(${name}_${mode} PROPERTIES TIMEOUT 300)
  endforeach()
  set_tests_properties(${name}_preloaded PROPERTIES ENVIRONMENT LD_PRELOAD=${LIBRARY})
  set_tests_properties(${name}_limited PROPERTIES
    ENVIRONMENT "LD_PRELOAD=${LIBRARY};TIDEMARK_HEAP_MEM=100%")
  set_tests_properties(${name}_off PROPERTIES ENVIRONMENT "LD_PRELOAD=${LIBRARY};TIDEMARK=off")
endforeach()

tidemark_script_test(check_exports check_exports.sh ${LIBRARY}
  ${CMAKE_SOURCE_DIR}/shim/driver_hooks.def ${CMAKE_SOURCE_DIR}/shim/host_hooks.def
  ${CMAKE_SOURCE_DIR}/pool/tidemark.h)
tidemark_script_test(check_layers check_layers.sh ${CMAKE_SOURCE_DIR})
tidemark_script_test(check_headers check_headers.sh ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR})
tidemark_script_test(check_tables check_tables.sh ${CMAKE_SOURCE_DIR})
tidemark_script_test(preload_ceiling preload_ceiling.sh ${CMAKE_BINARY_DIR}
  ${CMAKE_SOURCE_DIR}/shim/driver_hooks.def)
tidemark_script_test(preload_heap preload_heap.sh ${CMAKE_BINARY_DIR})
tidemark_script_test(preload_binds preload_binds.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/pool/bind_figures.def)
tidemark_script_test(preload_host preload_host.sh ${CMAKE_BINARY_DIR})
tidemark_script_test(preload_limits preload_limits.sh ${CMAKE_BINARY_DIR})
# With CHECK_ALL it changes settings of the whole machine for a moment.
set_tests_properties(preload_limits PROPERTIES RUN_SERIAL TRUE)
tidemark_script_test(preload_options preload_options.sh ${CMAKE_BINARY_DIR})
tidemark_script_test(installed installed.sh ${CMAKE_BINARY_DIR}
  ${CMAKE_SOURCE_DIR}/shim/driver_hooks.def ${CMAKE_SOURCE_DIR}/shim/host_hooks.def
  ${CMAKE_SOURCE_DIR}/pool/tidemark.h)
tidemark_script_test(preload_report preload_report.sh ${CMAKE_BINARY_DIR})

include(preload_programs.cmake)
