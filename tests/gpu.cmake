# What tools/gpu-check asks a driver with; without a run path, so that the environment decides
# which driver that is.
add_executable(gpu_probe gpu/probe.c gpu/lookups.c gpu/costs.c gpu/answers.c
  gpu/lookup_answers.c gpu/memory_answers.c gpu/other_answers.c)
target_link_libraries(gpu_probe PRIVATE tidemark_flags ${CMAKE_DL_LIBS})
set_target_properties(gpu_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
  SKIP_BUILD_RPATH ON)
tidemark_script_test(tool_gpu_check tool_gpu_check.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
