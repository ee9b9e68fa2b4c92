# How programs find the driver's functions, and what the library hands them.
# A driver that does what a test tells it, and programs that call it through the library.
add_library(echo_driver SHARED drivers/echo.c)
target_link_libraries(echo_driver PRIVATE tidemark_flags)
target_link_options(echo_driver PRIVATE -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,defs
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/drivers/echo.map)
set_target_properties(echo_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/echo)

# tidemark_hooks_test(name DRIVER_TARGET): tests/<name>.c, with the library preloaded.
function(tidemark_hooks_test name driver)
  tidemark_unit_test(${name} ${CMAKE_DL_LIBS})
  add_dependencies(${name} ${driver} shim)
  target_compile_definitions(${name} PRIVATE DRIVER="$<TARGET_FILE:${driver}>")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT LD_PRELOAD=${LIBRARY})
endfunction()

tidemark_hooks_test(preload_hooks echo_driver)
tidemark_hooks_test(preload_answers echo_driver)
foreach(name call_hook look_up)
  add_executable(${name} drivers/${name}.c)
  target_link_libraries(${name} PRIVATE tidemark_flags ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
tidemark_script_test(preload_observed preload_observed.sh ${CMAKE_BINARY_DIR}
  ${CMAKE_SOURCE_DIR}/shim/driver_hooks.def)

# Every way to every name, on each of the simulated drivers.
add_executable(preload_lookups preload_lookups.c)
target_link_libraries(preload_lookups PRIVATE tidemark_flags PkgConfig::CHECK ${CMAKE_DL_LIBS})
target_compile_definitions(preload_lookups PRIVATE
  CUDART_LOOKUPS="${CMAKE_CURRENT_SOURCE_DIR}/data/cudart13-lookups.tsv"
  DLSYM_LOOKUPS="${CMAKE_CURRENT_SOURCE_DIR}/data/dlsym-lookups.tsv")
set_target_properties(preload_lookups PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(driver simcuda simcuda_12_2 simcuda_11_4)
  add_test(NAME preload_lookups_${driver} COMMAND preload_lookups)
  set_tests_properties(preload_lookups_${driver} PROPERTIES TIMEOUT 120 ENVIRONMENT
    "LD_PRELOAD=${LIBRARY};LD_LIBRARY_PATH=$<TARGET_FILE_DIR:${driver}>;DRIVER=$<TARGET_FILE:${driver}>")
  add_dependencies(preload_lookups ${driver} shim)
endforeach()

# Drivers that lack functions.
add_executable(hide_symbols drivers/hide_symbols.c)
add_executable(tour clients/tour.c)
add_executable(observed clients/observed.c)
target_link_libraries(observed PRIVATE Threads::Threads)
foreach(name hide_symbols tour observed)
  target_link_libraries(${name} PRIVATE tidemark_flags ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
tidemark_script_test(preload_lacking preload_lacking.sh ${CMAKE_BINARY_DIR}
  ${CMAKE_SOURCE_DIR}/shim/driver_hooks.def)
tidemark_script_test(preload_roads preload_roads.sh ${CMAKE_BINARY_DIR})
