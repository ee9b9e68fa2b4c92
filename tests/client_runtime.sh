#!/bin/sh
# A runtime that is written for the library, in 4 threads on the simulated device: right in every
# bind, and from the second one on without an allocation, a page fault or a memory system call.
# Usage: client_runtime.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
library=$build/libtidemark.so
client=$build/tests/runtime
export LD_LIBRARY_PATH="$build/simcuda:$build"

# The numbers of one count, bind by bind, on one line.
sequence() { # NAME FILE
    sed -n "s/^bind .* $1=\([0-9]*\).*/\1/p" "$2" | tr '\n' ' '
}

# expect_binds HOW FILE: twelve binds that went as they should.
expect_binds() {
    expect_same "$1: every output is right" "every output is right" "$(tail -n 1 "$2")"
    expect_same "$1: all spill once, and never again" "40 0 0 0 0 0 0 0 0 0 0 0 " "$(sequence spilled "$2")"
    expect_same "$1: one upload each" "1 1 1 1 1 1 1 1 1 1 1 1 " "$(sequence uploads "$2")"
    expect_match "$1: host memory is asked for once" '^[1-9][0-9]* 0 0 0 0 0 0 0 0 0 0 0 $' \
        "$(sequence host_calls "$2")"
    expect_same "$1: device memory is asked for once" "2 0 0 0 0 0 0 0 0 0 0 0 " \
        "$(sequence device_calls "$2")"
    expect_same "$1: the same bytes" 1 "$(sequence bytes "$2" | tr ' ' '\n' | grep . | sort -u | grep -c .)"
}

out=$expect_work/out
"$client" 12 >"$out" || true
expect_binds "linked" "$out"
expect_match "linked: no page fault from the second bind on" '^[1-9][0-9]* 0 0 0 0 0 0 0 0 0 0 0 $' \
    "$(sequence faults "$out")"
LD_PRELOAD=$library "$client" 12 >"$out" || true
expect_binds "linked and preloaded" "$out"
TIDEMARK=off "$client" 12 >"$out" || true
expect_binds "switched off" "$out"

# The library's own counters and the driver's log: thirty-six binds more change none of them. How
# many calls the ordinary sizes take depends on which threads meet in the first bind.
counters() { # BINDS FILE
    TIDEMARK_DEVICE_RETAIN=off TIDEMARK_REPORT=$2 TIDEMARK_REPORT_FORMAT=json SIMCUDA_LOG=$expect_work/calls \
        "$client" "$1" >/dev/null
    grep -oE '"(retained|alloc|free)": [0-9]+' "$2" | tr '\n' ' '
    echo "driver: $(grep -cE '^cuMem(Alloc|Free)' "$expect_work/calls")"
    rm -f "$expect_work/calls"
}
ordinary() { # FILE
    sed -n 's/.*"ordinary": \([0-9]*\).*/\1/p' "$1"
}
few=$(counters 4 "$expect_work/few")
expect_match "the library sees the driver's allocations" '"alloc": 2 .*driver: 4$' "$few"
expect_same "no counter of memory grows with the binds" "$few" "$(counters 40 "$expect_work/many")"
expect_same "nor do the calls of ordinary sizes" "at most 4 more" \
    "$([ "$(ordinary "$expect_work/many")" -le $(($(ordinary "$expect_work/few") + 4)) ] && echo at most 4 more)"

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    strace -f -qq -o "$expect_work/trace" \
        -e trace=mmap,munmap,mprotect,mremap,madvise,brk,write "$client" 12 >/dev/null
    expect_same "the trace has every bind" 12 "$(grep -c 'write(1, "bind ' "$expect_work/trace")"
    expect_same "no memory system call between the second bind and the last" "" \
        "$(sed -n '/write(1, "bind 1:/,/write(1, "bind 12:/p' "$expect_work/trace" | grep -v 'write(' || true)"
    expect_match "although the first one has some" 'mmap|mprotect|madvise' \
        "$(sed '/write(1, "bind 1:/q' "$expect_work/trace")"
else
    echo "skip the trace of system calls: strace does not work here"
fi

# A device that has not the room: the bind fails, and says why.
expect_same "no device memory is a refusal" "runtime: stage: a function of the device's refused" \
    "$(TIDEMARK_DEVICE_MEM=256KiB "$client" 2 2>&1 >/dev/null | grep "^runtime")"
expect_end
