# The simulated driver, and real programs on it.
foreach(name sim_versions sim_memory sim_freed sim_contexts sim_copies sim_lookups sim_knobs sim_costs sim_faults
  sim_streams sim_waits sim_order sim_events sim_capture sim_graphs sim_pools sim_exports)
  tidemark_unit_test(${name} ${CMAKE_DL_LIBS})
  add_dependencies(${name} simcuda simcuda_12_2 simcuda_11_4)
  target_compile_definitions(${name} PRIVATE
    TESTS_README="${CMAKE_CURRENT_SOURCE_DIR}/README.md"
    SIMCUDA_PATH="$<TARGET_FILE:simcuda>"
    SIMCUDA_12_2_PATH="$<TARGET_FILE:simcuda_12_2>"
    SIMCUDA_11_4_PATH="$<TARGET_FILE:simcuda_11_4>"
    CUDART_LOOKUPS="${CMAKE_CURRENT_SOURCE_DIR}/data/cudart13-lookups.tsv")
endforeach()

# One client by every road to the driver; without a run path, so that the environment decides
# which driver that is.
foreach(name alloc_steps call_steps)
  add_executable(${name} clients/${name}.c)
  target_link_libraries(${name} PRIVATE tidemark_flags ${CMAKE_DL_LIBS})
  add_executable(${name}_plt clients/${name}.c)
  target_link_libraries(${name}_plt PRIVATE tidemark_flags simcuda)
  target_compile_definitions(${name}_plt PRIVATE ROUTE_PLT)
  set_target_properties(${name} ${name}_plt PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
    SKIP_BUILD_RPATH ON)
endforeach()

add_executable(shortage clients/shortage.c)
target_link_libraries(shortage PRIVATE tidemark_flags simcuda)
set_target_properties(shortage PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
  SKIP_BUILD_RPATH ON)

# A program that is written for the library, and linked to it.
add_executable(runtime clients/runtime.c)
target_link_libraries(runtime PRIVATE tidemark_flags shim simcuda Threads::Threads)
set_target_properties(runtime PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
  SKIP_BUILD_RPATH ON)
tidemark_script_test(client_runtime client_runtime.sh ${CMAKE_BINARY_DIR})

tidemark_script_test(client_alloc_steps client_alloc_steps.sh ${CMAKE_BINARY_DIR})
foreach(client client_ffmpeg client_offload)
  tidemark_script_test(${client} ${client}.sh ${CMAKE_BINARY_DIR})
  tidemark_script_test(${client}_preloaded ${client}.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(${client}_preloaded PROPERTIES
    ENVIRONMENT PRELOAD=${CMAKE_BINARY_DIR}/libtidemark.so)
endforeach()
tidemark_script_test(check_simcuda_names check_simcuda_names.sh
  ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})

find_path(TIDEMARK_CUDA_INCLUDE cuda.h HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(TIDEMARK_CUDA_INCLUDE)
if(TIDEMARK_CUDA_INCLUDE)
  add_library(check_driver_abi_toolkit OBJECT check_driver_abi.c)
  target_link_libraries(check_driver_abi_toolkit PRIVATE tidemark_flags)
  target_include_directories(check_driver_abi_toolkit SYSTEM PRIVATE ${TIDEMARK_CUDA_INCLUDE})
  target_compile_definitions(check_driver_abi_toolkit PRIVATE TOOLKIT)
  add_executable(check_driver_abi check_driver_abi.c)
  target_link_libraries(check_driver_abi PRIVATE tidemark_flags check_driver_abi_toolkit)
  set_target_properties(check_driver_abi PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME check_driver_abi
    COMMAND check_driver_abi ${CMAKE_SOURCE_DIR}/shim/driver_abi.h)
else()
  message(STATUS "No cuda.h: shim/driver_abi.h is not compared with it")
  add_test(NAME check_driver_abi COMMAND sh -c "echo 'skipped: no cuda.h'; exit 77")
  set_tests_properties(check_driver_abi PROPERTIES SKIP_RETURN_CODE 77)
endif()

# Accounting, under ceilings of 64 MiB.
foreach(name preload_accounts preload_lifetimes preload_pools preload_queries preload_random
  preload_threads)
  tidemark_hooks_test(${name} simcuda)
  target_compile_definitions(${name} PRIVATE SIMCUDA_PATH="$<TARGET_FILE:simcuda>")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "LD_PRELOAD=${LIBRARY};TIDEMARK_DEVICE_MEM=64MiB;TIDEMARK_PINNED_MEM=64MiB;TIDEMARK_HEADROOM=0;TIDEMARK_DEVICE_RETAIN=off;TIDEMARK_PINNED_RETAIN=off")
endforeach()
# Pools grow by 32 MiB.
target_compile_definitions(preload_random PRIVATE CEILING_MIB=192)
target_compile_definitions(preload_threads PRIVATE CEILING_MIB=192)
set_tests_properties(preload_random preload_threads PROPERTIES ENVIRONMENT
  "LD_PRELOAD=${LIBRARY};TIDEMARK_DEVICE_MEM=192MiB;TIDEMARK_PINNED_MEM=64MiB;TIDEMARK_HEADROOM=0;TIDEMARK_DEVICE_RETAIN=off;TIDEMARK_PINNED_RETAIN=off")
tidemark_hooks_test(preload_verdicts simcuda)
target_link_libraries(preload_verdicts PRIVATE policy)
target_compile_options(preload_verdicts PRIVATE -fno-builtin) # it is malloc that is asked
target_compile_definitions(preload_verdicts PRIVATE SIMCUDA_PATH="$<TARGET_FILE:simcuda>")
set_tests_properties(preload_verdicts PROPERTIES ENVIRONMENT
  "LD_PRELOAD=${LIBRARY};TIDEMARK_DEVICE_MEM=64MiB;TIDEMARK_PINNED_MEM=64MiB;TIDEMARK_HEADROOM=0;TIDEMARK_HEAP_MEM=24MiB")
tidemark_script_test(preload_calls preload_calls.sh ${CMAKE_BINARY_DIR})
tidemark_script_test(preload_reality preload_reality.sh ${CMAKE_BINARY_DIR})
tidemark_hooks_test(preload_forms echo_driver)
set_tests_properties(preload_forms PROPERTIES ENVIRONMENT
  "LD_PRELOAD=${LIBRARY};TIDEMARK_PINNED_MEM=16KiB")
