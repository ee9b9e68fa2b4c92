#!/bin/sh
# The client of the ceiling tests, on the bare simulator: every road leads to the same numbers,
# which are the simulator's own limit. Usage: client_alloc_steps.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# steps ROUTE STEP COUNT
steps() {
    client=$build/tests/alloc_steps
    [ "$1" = plt ] && client=$build/tests/alloc_steps_plt
    LD_LIBRARY_PATH=$build/simcuda SIMCUDA_MEM=1MiB "$client" "$@" || echo "exit $?"
}

for route in plt dlsym gpa gpa2; do
    expect_same "$route: the device holds sixteen steps" \
        "granted 16 refused 4 first_error 2 total 1048576 free 0" "$(steps $route 65536 20)"
    expect_same "$route: steps are charged in whole units" \
        "granted 3 refused 0 first_error 0 total 1048576 free 1045504" "$(steps $route 513 3)"
    expect_same "$route: a step of nothing is invalid" \
        "granted 0 refused 1 first_error 1 total 1048576 free 1048576" "$(steps $route 0 1)"
done
expect_same "an unknown road is refused" "exit 2" "$(steps guess 1 1 2>/dev/null)"
expect_end
