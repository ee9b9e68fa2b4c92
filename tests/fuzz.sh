#!/bin/sh
# Builds a libFuzzer harness with clang and its sanitizers and lets it search, starting from
# tests/fuzz/corpus/NAME, which it leaves as it is. With CHECK_ALL=1 it searches four times as
# long. Usage: fuzz.sh NAME SECONDS SOURCE..., sources from the root of the tree and words for
# the linker such as -ljansson.
set -eu
name=$1
seconds=$2
shift 2
cd "$(dirname "$0")/.."
[ "${CHECK_ALL:-0}" != 1 ] || seconds=$((seconds * 4))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skip $name: $*"
    exit 77
}

build() {
    clang -std=gnu11 -D_GNU_SOURCE -I. -g -O1 -Wall -Wextra -Werror \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "$@"
}

command -v clang >/dev/null || skip 'clang is not installed'
echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' >"$work/probe.c"
build -o "$work/probe" "$work/probe.c" 2>"$work/log" || skip 'clang has no fuzzer library'

build -o "$work/$name" "$@"
mkdir "$work/corpus"
cp "tests/fuzz/corpus/$name/"* "$work/corpus"
if ! "$work/$name" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$work/" "$work/corpus" 2>"$work/log"; then
    tail -n 60 "$work/log" # which ends with the input in base64
    exit 1
fi
grep '^Done' "$work/log"
