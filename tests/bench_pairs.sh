#!/bin/sh
# bench/pairs measures the library and not the driver twice, on either driver.
# Usage: bench_pairs.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# pairs DRIVER_FOLDER [NAME=VALUE...]
pairs() {
    folder=$1
    shift
    env LD_LIBRARY_PATH="$build/$folder" TIDEMARK_DEVICE_RETAIN=off "$@" "$build/bench/pairs" --rounds 5 --pairs 20 0 3 2>&1 ||
        echo "exit $?"
}

preload="LD_PRELOAD=$build/libtidemark.so"
for driver in simcuda bench/null_driver; do
    results=$(pairs $driver "$preload")
    expect_match "$driver: a line for each" \
        '^live 3 threads 2: plain [0-9]+ \[[0-9]+-[0-9]+\] through [0-9]+ \[[0-9]+-[0-9]+\] added .* ns, .*: (within|over) 150 ns$' \
        "$results"
    expect_same "$driver: two counts of threads at two of live blocks" 4 \
        "$(echo "$results" | grep -c '^live')"
    pairs $driver "$preload" "TIDEMARK_REPORT=$expect_work/report" >/dev/null
    # 3 stay; of 20 pairs in 5 rounds of 1 and of 2 threads, at 0 and at 3 live, half go by us.
    expect_match "$driver: half of the pairs went through the library" \
        '^  alloc  *603$' "$(cat "$expect_work/report")"
done
expect_match "without the library there is nothing to compare" '^exit 2$' \
    "$(pairs simcuda LD_PRELOAD=)"
expect_match "nor where it is off" '^exit 2$' "$(pairs simcuda "$preload" TIDEMARK=off)"
expect_end
