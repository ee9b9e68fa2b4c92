#!/bin/sh
# tools/gpu-check, on the simulated driver: what it says first, what it leaves, what it says where there
# is no driver or no device, and that it sees a library that is not there, an answer that is another and
# an address that differs. Usage: tool_gpu_check.sh BUILD_FOLDER SOURCE_FOLDER
set -eu
build=$1 source=$2
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
check=$source/tools/gpu-check
results=$expect_work/results

# runs CODE ARGUMENT...: gpu-check exits so; stdout goes to ./out, stderr to ./err.
runs() {
    code=$1
    shift
    status=0
    "$check" "$@" >"$expect_work/out" 2>"$expect_work/err" || status=$?
    expect_same "gpu-check $*: exit status" "$code" "$status"
}

out() {
    cat "$expect_work/out"
}

runs 0 --simulated --build "$build" --results "$results"
expect_match "the first line is about addresses" \
    '^dlsym and cuGetProcAddress answer with the same addresses: yes, for [1-9][0-9]* names' "$(out | head -n 1)"
expect_match "the library has every hooked name" '^ok hooked names: ' "$(out)"
expect_match "and alters no answer" '^ok answers: the same under the library \([1-9][0-9]* questions\)$' "$(out)"
expect_same "the ceiling holds at one step on three roads" 3 "$(out | grep -c '^ok 64 MiB by ')"
calls=$(LD_LIBRARY_PATH=$build/simcuda "$build/tests/call_steps" dlsym 1 1 4096 | grep -c .)
expect_same "and through every call that the client makes" "$calls" "$(out | grep -cE '^(ok|skip) ceiling of ')"
expect_match "what is missing is skipped aloud" '^skip torch: the simulated driver runs no kernels$' "$(out)"
expect_same "nothing failed" "" "$(out | grep '^FAILED' || true)"
page=$(cat "$results"/gpu-simulated-cuda-device-*.md)
expect_match "the page begins with the addresses" '^dlsym and cuGetProcAddress .*: yes, for ' "$(echo "$page" | head -n 1)"
expect_match "it has questions and answers" '^\| cuMemFree\(0\) \| [0-9]+ \| the same \| the same \|$' "$page"
expect_match "and times of both runs" '^\| cuMemAlloc and cuMemFree \| 1 GiB \| [0-9.]+ \| [0-9.]+ \|$' "$page"
json=$(echo "$results"/gpu-simulated-cuda-device-*.json)
if command -v jq >/dev/null; then
    expect_same "the JSON has it all" "true true 0" "$(jq -r '[.addresses_agree, .made.simulated,
        ([.checks[] | select(.result == "failed")] | length)] | join(" ")' "$json")"
    expect_same "each name, by each run" "[true,true]" "$(jq -c '[(.names_driver, .names_library | length > 50)]' "$json")"
    expect_same "each question, of three" 0 \
        "$(jq '[.answers[] | select(.driver == null or .library != .driver or .simcuda == null)] | length' "$json")"
else
    echo "skip the JSON: jq is not installed"
fi

# Where there is nothing to check, one line says why, and nothing is left.
results=$expect_work/none
nothing() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    runs 2 "$@" --build "$build" --results "$results"
    expect_match "gpu-check $*: why" "^gpu-check: $pattern" "$(grep -v '^gpu-check: what there is$' "$expect_work/err")"
    expect_lines "gpu-check $*: one line" 1 "$(grep -v '^gpu-check: what there is$' "$expect_work/err")"
    expect_same "gpu-check $*: nothing else" "" "$(out)"
    [ ! -e "$results" ]
    expect_same "gpu-check $*: no results" 0 $?
}
mkdir "$expect_work/broken"
echo 'no library' >"$expect_work/broken/libcuda.so.1"
nothing 'no driver: there is no /nowhere/libcuda.so.1$' --driver /nowhere/libcuda.so.1
nothing 'no driver: .*libcuda\.so\.1: (invalid ELF header|file too short)' --driver "$expect_work/broken"
nothing 'no driver: .*/tool_gpu_check\.sh is no libcuda\.so\.1$' --driver "$0"
SIMCUDA_DEVICES=0
export SIMCUDA_DEVICES
nothing 'no device: cuInit answers 100$' --driver "$build/simcuda"
unset SIMCUDA_DEVICES
runs 2 --guess
expect_same "an option that is not there" "gpu-check: there is no --guess; --help says what there is" \
    "$(cat "$expect_work/err")"
runs 2 --build "$build" --driver
expect_same "an option without its path" "gpu-check: --driver needs a path; --help says which" \
    "$(cat "$expect_work/err")"
runs 2 --simulated --build "$expect_work/nowhere"
expect_same "a build folder that is not there" "gpu-check: there is no build folder $expect_work/nowhere" \
    "$(cat "$expect_work/err")"
runs 0 --help
expect_match "--help teaches" '^usage: tools/gpu-check ' "$(out)"

# A library that does nothing is seen: names are not its own, and ceilings do not hold.
mkdir -p "$expect_work/idle/tests"
cp "$build/tests/tool/libtidemark.so" "$expect_work/idle"
ln -s "$build/simcuda" "$build/bench" "$expect_work/idle"
for client in gpu_probe alloc_steps call_steps; do
    ln -s "$build/tests/$client" "$expect_work/idle/tests"
done
runs 1 --simulated --build "$expect_work/idle" --results "$expect_work/idle"
expect_match "names that are not the library's" '^FAILED hooked names: [1-9][0-9]* not the library' "$(out)"
expect_match "a ceiling that does not hold" '^FAILED 64 MiB by dlsym: wanted: .*; got: granted 80 ' "$(out)"
expect_match "the results have it" '^\| hooked names \| failed \| ' "$(cat "$expect_work"/idle/gpu-*.md)"

# What is compared, of records made up for it.
compare() {
    awk -v what="$1" -f "$source/tests/gpu/compare.awk" "$expect_work/records"
}
{
    printf 'driver\tname\tcuA\tcuA\t2000\t0\tdriver\tsame\tsame\t0\n'
    printf 'driver\tname\tcuB\tcuB\t2000\t0\tdriver\tsame\tanother\t0\n'
    printf 'driver\tname\tcuC\tcuC\t2000\t0\tnone\tnone\tnone\t1\n'
    printf 'driver\tname\tcuD\tcuD\t2000\t0\tdriver\tsame\tnone\t0\n'
    printf 'library\tname\tcuA\tcuA\t2000\t0\tlibrary\tsame\tsame\t0\n'
    printf 'library\tname\tcuB\tcuB\t2000\t0\tlibrary\tsame\tanother\t0\n'
    printf 'library\tname\tcuC\tcuC\t2000\t0\tnone\tnone\tnone\t1\n'
    printf 'library\tname\tcuD\tcuD\t2000\t0\tlibrary\tsame\tnone\t0\n'
    printf 'driver\tversion\tcuA\t1999\t0\t500 none\t0 none\t2\n'
    printf 'library\tversion\tcuA\t1999\t0\t0 cuA\t0 none\t2\n'
    printf 'driver\tanswer\tone\tfirst\t0\n'
    printf 'driver\tanswer\ttwo\tsecond\t1\n'
    printf 'driver\tanswer\tthree\tthird\t2\n'
    printf 'library\tanswer\tone\tfirst\t0\n'
    printf 'library\tanswer\ttwo\tsecond\t0\n'
    printf 'simcuda\tanswer\tone\tfirst\t7\n'
} >"$expect_work/records"
expect_same "an address that differs is counted and named" "1 3 1 cuB" "$(compare agree)"
expect_same "a name that the library leaves to the driver" "cuB" "$(compare hooked)"
expect_same "a form that it changes" "cuA at 1999, flags 0: 500 none; 0 none; 2 becomes 0 cuA; 0 none; 2" \
    "$(compare versions)"
expect_same "an answer that it alters, and one that does not come" "second: 1 becomes 0
third: 2 becomes no answer" "$(compare altered)"
expect_same "an answer of the simulated driver's own" "first: 0; simulated: 7" "$(compare simulated)"
expect_end
