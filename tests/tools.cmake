# The command is tested in a folder of its own, beside a library that stands in for the real
# one: the command takes the library from where it lies itself.
set(TOOL_FOLDER ${CMAKE_BINARY_DIR}/tests/tool)

add_library(tool_standin MODULE tool_standin.c)
target_link_libraries(tool_standin PRIVATE tidemark_flags)
set_target_properties(tool_standin PROPERTIES
  PREFIX "" OUTPUT_NAME libtidemark LIBRARY_OUTPUT_DIRECTORY ${TOOL_FOLDER})
add_custom_target(tool_copy ALL
  COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:tidemark> ${TOOL_FOLDER}/tidemark)
add_dependencies(tool_copy tidemark tool_standin)

add_executable(tool_child tool_child.c)
# No such loader need exist: the command looks at its name.
add_executable(tool_musl tool_child.c)
target_link_options(tool_musl PRIVATE -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1)
add_executable(tool_static tool_static.c)
target_compile_options(tool_static PRIVATE -ffreestanding -fno-stack-protector -fno-pic)
target_link_options(tool_static PRIVATE -static -nostdlib)
foreach(program tool_child tool_musl tool_static)
  target_link_libraries(${program} PRIVATE tidemark_flags)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TOOL_FOLDER})
endforeach()

tidemark_unit_test(tool_signals util)
set_tests_properties(tool_signals PROPERTIES ENVIRONMENT TOOL_FOLDER=${TOOL_FOLDER})
tidemark_script_test(tool_run tool_run.sh ${TOOL_FOLDER})
tidemark_script_test(tool_admit tool_admit.sh ${TOOL_FOLDER} ${CMAKE_SOURCE_DIR}/README.md)
tidemark_script_test(tool_plan tool_plan.sh ${TOOL_FOLDER} ${CMAKE_CURRENT_SOURCE_DIR}/data/plans
  ${CMAKE_SOURCE_DIR}/README.md)
tidemark_script_test(tool_binds tool_binds.sh ${TOOL_FOLDER})
tidemark_script_test(tool_compare tool_compare.sh ${TOOL_FOLDER})
tidemark_script_test(tool_expect tool_expect.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/pool/stats.def)
tidemark_script_test(tool_strict tool_strict.sh ${TOOL_FOLDER})
tidemark_script_test(tool_options tool_options.sh ${TOOL_FOLDER} ${PROJECT_VERSION}
  ${CMAKE_SOURCE_DIR}/policy/options.def ${CMAKE_SOURCE_DIR}/README.md)

tidemark_script_test(fuzz_options fuzz.sh fuzz_options 15 tests/fuzz/fuzz_options.c
  policy/ceiling.c policy/ceilings.c policy/options.c policy/quantity.c)
tidemark_script_test(fuzz_report fuzz.sh fuzz_report 15 tests/fuzz/fuzz_report.c
  tools/tidemark/admit_report.c tools/tidemark/json_input.c tools/tidemark/json_place.c
  policy/quantity.c policy/reservation.c pool/text.c -ljansson)
tidemark_script_test(fuzz_plan fuzz.sh fuzz_plan 15 tests/fuzz/fuzz_plan.c
  tools/tidemark/json_input.c tools/tidemark/json_place.c tools/tidemark/plan_decide.c
  tools/tidemark/plan_file.c tools/tidemark/usage.c policy/gaps.c policy/placement.c
  policy/quantity.c policy/rank.c policy/space.c -ljansson)
tidemark_script_test(fuzz_records fuzz.sh fuzz_records 15 tests/fuzz/fuzz_records.c
  tools/tidemark/binds_file.c tools/tidemark/compare_log.c tools/tidemark/compare_run.c
  tools/tidemark/compare_stamp.c tools/tidemark/json_input.c tools/tidemark/json_lines.c
  tools/tidemark/json_place.c policy/quantity.c -DTIDEMARK_VERSION="0" -ljansson)
