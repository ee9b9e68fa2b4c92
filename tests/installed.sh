#!/bin/sh
# What is installed works from where it was installed: a real program started with it is served by
# retained blocks, and the simulated driver is found. Usage: installed.sh BUILD_FOLDER DRIVER_HOOKS HOST_HOOKS PUBLIC_HEADER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
prefix=$expect_work/prefix

cmake --install "$build" --prefix "$prefix" >"$expect_work/log"
library=$(find "$prefix" -name libtidemark.so)
expect_match "the library lies in a library folder" '/lib(/x86_64-linux-gnu)?/libtidemark\.so$' "$library"
expect_match "its exports are those intended" 'all intended' \
    "$("$(dirname "$0")/check_exports.sh" "$library" "$2" "$3" "$4")"

seq 300000 | "$prefix/bin/tidemark" run --strict --report "$expect_work/report" \
    --report-format json -- awk \
    '{ lines[NR] = $0 } END { print NR, lines[NR] }' >"$expect_work/out"
expect_same "a program it did not build runs under it" "300000 300000" "$(cat "$expect_work/out")"
expect_match "and is served by retained blocks" '"heap": \{"claims": [1-9]' "$(cat "$expect_work/report")"

# A program that is written for the library, by each way to build it; moved with the tree.
version=$("$prefix/bin/tidemark" --version)
mv "$prefix" "$expect_work/moved"
prefix=$expect_work/moved
library=$prefix/${library#"$expect_work/prefix/"}
cp "$(dirname "$0")/clients/version.c" "$expect_work/client.c"
cp "$expect_work/client.c" "$expect_work/client.cc"
# build_and_run WAY COMMAND...
build_and_run() {
    way=$1
    shift
    "$@" >>"$expect_work/log" 2>&1 || true
    expect_same "$way: linked, the library is there" "$version" "$("$expect_work/client" 2>&1)"
    rm -f "$expect_work/client"
}
flags() {
    PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig pkg-config "$@" tidemark
}
# shellcheck disable=SC2046
build_and_run "pkg-config" cc -Werror -Wall -std=c99 -pedantic $(flags --cflags) "$expect_work/client.c" \
    -o "$expect_work/client" $(flags --libs) -Wl,-rpath,"$(dirname "$library")"
decided='ceiling 212500
admitted 131130
over the budget: 131130 beside 131130 of 212500, short by 49760
an argument that is never right
charged 131130'
for compiler in "cc -std=c99" c++; do
    command -v "${compiler%% *}" >/dev/null || continue
    # shellcheck disable=SC2046,SC2086
    $compiler -Werror -Wall -Wextra -pedantic $(flags --cflags) "$(dirname "$0")/clients/admit.c" \
        -o "$expect_work/admit" $(flags --libs) -Wl,-rpath,"$(dirname "$library")" >>"$expect_work/log" 2>&1 || true
    expect_same "$compiler: a program decides by the library" "$decided" "$("$expect_work/admit" 2>&1)"
    rm -f "$expect_work/admit"
done
expect_same "pkg-config knows the version" "$version" "tidemark $(flags --modversion)"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    build_and_run "C++" c++ -Werror -Wall -pedantic $(flags --cflags) "$expect_work/client.cc" \
        -o "$expect_work/client" $(flags --libs) -Wl,-rpath,"$(dirname "$library")"
else
    echo "skip the header in C++: there is no compiler"
fi
cat >"$expect_work/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.22)
project(client LANGUAGES C)
find_package(tidemark 0.1 REQUIRED)
add_executable(client client.c)
target_link_libraries(client PRIVATE tidemark::tidemark)
set_target_properties(client PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_SOURCE_DIR})
PROJECT
build_with_cmake() {
    cmake -S "$expect_work" -B "$expect_work/build" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$expect_work/build"
}
build_and_run "CMake" build_with_cmake

cc -DWEAK "$expect_work/client.c" -o "$expect_work/client" -I"$prefix/include"
expect_same "not linked, the library is not there" "none" "$("$expect_work/client")"
expect_same "not linked but preloaded, it is" "$version" \
    "$(env LD_PRELOAD="$library" "$expect_work/client")"

if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip the simulated driver: there is a GPU here"
else
    expect_same "the simulated driver is found" \
        "granted 3 refused 2 first_error 2 total 3145728 free 0" \
        "$("$prefix/bin/tidemark" run --sim --device-mem 3MiB --headroom 0 -- \
            "$build/tests/alloc_steps" gpa2 1048576 5 2>/dev/null)"
fi
expect_end
