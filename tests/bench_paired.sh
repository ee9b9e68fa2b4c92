#!/bin/sh
# bench/paired compares what commands really printed, in the environments it was told, and its
# exit status says the verdict.
# Usage: bench_paired.sh BUILD_FOLDER
set -eu
paired=$1/bench/paired
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# compare BOUND SCRIPT: the shell prints what VALUE, 12 of ours and 10 of theirs, makes of it.
compare() {
    VALUE=7 "$paired" --rounds 10 --variant ours --set VALUE=12 \
        --variant theirs --bound "$1" --set VALUE=10 --variant plain \
        -- sh -c "$2" 2>&1 && echo "exit 0" || echo "exit $?"
}

# shellcheck disable=SC2016 # for the shell that is run
show='echo "${VALUE-1}"'

results=$(compare 1.2 "$show")
expect_match "each variant has its own value" '^ours 12 \[12-12\]$' "$results"
expect_match "a variable of one variant is unset in another" '^plain 1 \[1-1\]$' "$results"
expect_match "the ratio is judged" '^ours/theirs 1.200 \[1.200-1.200\] within 1.20x$' "$results"
expect_match "within is success" '^exit 0$' "$results"

results=$(compare 1.1 "$show")
expect_match "over the bound is said" '^ours/theirs 1.200 .* over 1.10x$' "$results"
expect_match "over the bound is a failure" '^exit 1$' "$results"

echo 0 >"$expect_work/runs"
results=$(compare 0.1 "
    read -r runs <'$expect_work/runs'
    echo \$((runs + 1)) | tee '$expect_work/runs'")
expect_match "what scatters is not resolvable" 'not resolvable$' "$results"
expect_match "not resolvable is no failure" '^exit 0$' "$results"

expect_match "a command that fails is trouble" '^exit 2$' "$(compare 1 'echo 1; false')"
expect_match "a word is no number" '^exit 2$' "$(compare 1 'echo fast')"
expect_match "nothing is no number" '^exit 2$' "$(compare 1 true)"
expect_match "no bound is wrong usage" '^exit 2$' "$(compare fast true)"

expect_end
