#!/bin/sh
# What a program without a pool of its own asks of the driver, with and without the library: counts
# and bytes, which are the same wherever this runs. Times are for people.
# Usage: bench_retained.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

retained() { # DRIVER ARGUMENT... with the environment of `run`
    driver=$1
    shift
    env LD_LIBRARY_PATH="$build/$driver" SIMCUDA_MEM=2GiB $run "$build/bench/retained" "$@"
}

# within VALUE BOUND
within() {
    awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value <= bound) }' && echo yes || echo no
}

run=
expect_match "plain, a loop asks for each block" \
    '^loop threads 1: .* 16\.0000 allocations and 16\.0000 frees by the driver a round$' \
    "$(retained simcuda loop 100)"
expect_match "and so does staging" '^staging: 1453 asked, 1453 allocations and 1426 frees' \
    "$(retained simcuda staging 102)"

run="LD_PRELOAD=$build/libtidemark.so"
for driver in simcuda simcuda-12.2; do
    expect_match "$driver: with one wait a round a loop asks for none" \
        '^loop threads 1: .* 0\.0000 allocations and 0\.0000 frees by the driver a round$' \
        "$(retained $driver loop 1000)"
    staging=$(retained $driver staging 1000)
    asked=$(echo "$staging" | sed 's/.*: \([0-9]*\) asked.*/\1/')
    allocations=$(echo "$staging" | sed 's/.*asked, \([0-9]*\) alloc.*/\1/')
    expect_same "$driver: staging asks for 1 % ($staging)" yes \
        "$(within $((allocations * 100)) "$asked")"
    held=$(echo "$staging" | sed 's/.*(\([0-9.]*\))$/\1/')
    # Without events over contexts nobody can tell that a free would not wait.
    bound=1.125
    [ $driver = simcuda ] || bound=1.2
    expect_same "$driver: and holds little more than is live ($staging)" yes \
        "$(within "$held" $bound)"
done
expect_match "without waits and events it asks no more than plain" \
    ' 16\.0000 allocations and 1[56]\.[0-9]* frees by the driver a round$' \
    "$(retained simcuda-12.2 loop 100 nowait)"
expect_end
