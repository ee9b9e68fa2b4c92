#!/bin/sh
# The record of binds: bounded by staging, by calls of the driver or by the program's own binds,
# true to what the kernel counts, and without a cost that would show in it.
# Usage: preload_binds.sh BUILD_FOLDER FIGURES_DEF
set -eu
build=$(realpath "$1") figures=$2
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
unset TIDEMARK TIDEMARK_BINDS TIDEMARK_BIND_ON TIDEMARK_REPORT
library=$build/libtidemark.so
sources=$(realpath "$(dirname "$0")/preload")
cd "$expect_work"
cc -O1 -fno-builtin "$sources/mirror.c" -o mirror -pthread

preloaded() {
    env LD_PRELOAD="$library" "$@"
}
# field NAME FILE: a figure, bind by bind, of whole binds
field() {
    grep '"phase": null' "$2" | sed -n "s/.*\"$1\": \([0-9a-z]*\).*/\1/p" | tr '\n' ' ' | sed 's/ $//'
}
head_of() {
    sed -n '1s/.*"boundary": "\([^"]*\)".*/\1/p' "$1"
}

# 126 KB, 82,460,928 bytes: below and above every size at which an allocator changes its ways.
for bytes in 129024 82460928; do
    preloaded TIDEMARK_BINDS=binds ./mirror $bytes 12 page >out
    expect_same "$bytes: bounded by staging" staging "$(head_of binds)"
    expect_same "$bytes: twelve binds" "1 2 3 4 5 6 7 8 9 10 11 12" "$(field bind binds)"
    expect_same "$bytes: a claim each" "1 1 1 1 1 1 1 1 1 1 1 1" "$(field claims binds)"
    expect_same "$bytes: the bytes" "$bytes" "$(field bytes binds | tr ' ' '\n' | sort -u)"
    expect_match "$bytes: the kernel counts no fault from the second bind on" '^[1-9][0-9]*( 0){11}$' "$(cat out)"
    expect_match "$bytes: nor does the record" '^[1-9][0-9]*( 0){11}$' "$(field minor_faults binds)"
    expect_match "$bytes: nor a memory system call" '^[1-9][0-9]*( 0){11}$' "$(field memory_calls binds)"
    expect_same "$bytes: the thread's are the process's" "$(field minor_faults binds)" "$(field thread_minor_faults binds)"
    expect_match "$bytes: the first one costs what the block and its page do" '^([1-9]|1[0-9]) ' "$(cat out)"
done
names=$(sed -n 's/^FIGURE(\([a-z_]*\),.*/\1/p' "$figures")
for name in $names; do
    expect_match "every line has $name" '^([0-9]+ ){11}[0-9]+$' "$(field "$name" binds)"
done
expect_same "time passes, and a thread's is part of it" "yes yes" "$(
    awk -F'"wall_ns": ' 'NR > 1 { split($2, wall, ","); ok = wall[1] > 0 } END { print ok ? "yes" : "no" }' binds) $(
    awk -F'"cpu_ns": |"thread_cpu_ns": ' 'NR > 1 { split($2, all, ","); split($3, own, ","); bad += own[1] > all[1] + 100000 }
        END { print bad ? "no" : "yes" }' binds)"

# All of it: 20,132 pages the first time, none once it is kept; what is not kept costs them each time.
preloaded TIDEMARK_BINDS=binds TIDEMARK_HUGEPAGE=never ./mirror 82460928 5 all >out
expect_match "touched cold" '^201[3-4][0-9]( 0){4}$' "$(cat out)"
expect_same "the record agrees with the kernel to the fault" "$(cut -d' ' -f2- out)" "$(field minor_faults binds | cut -d' ' -f2-)"
expect_match "without the library, every time" '^201[3-4][0-9]( 2013[2-9]){4}$' "$(./mirror 82460928 5 all)"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    strace -qq -e trace=mmap,munmap -o trace ./mirror 82460928 40 page >/dev/null
    strace -qq -e trace=mmap,munmap -o fewer ./mirror 82460928 30 page >/dev/null
    expect_same "without the library a bind is a mmap and a munmap" "20" "$(($(grep -c . trace) - $(grep -c . fewer)))"
    for binds in 30 40; do
        env LD_PRELOAD="$library" strace -qq -e trace=mmap,munmap,mprotect,madvise,mremap,brk -o trace.$binds \
            ./mirror 82460928 $binds page >/dev/null
    done
    expect_same "with it, none" "$(grep -c . trace.30)" "$(grep -c . trace.40)"
else
    echo "skip the trace of system calls: strace does not work here"
fi

# An empty window counts nothing, and the record itself does not show: with it and without, the
# program sees the same faults, and the library makes the same calls.
preloaded TIDEMARK_BINDS=binds ./mirror 1000000 12 none >out
expect_match "an empty bind has no fault" '^[0-9]+( 0){11}$' "$(field minor_faults binds)"
for binds in '' TIDEMARK_BINDS=binds; do
    preloaded $binds TIDEMARK_REPORT=report."${binds:+on}" TIDEMARK_REPORT_FORMAT=json \
        ./mirror 82460928 12 page | cut -d' ' -f2- >faults."${binds:+on}"
    grep -o '"memory_calls": {[^}]*}\|"heap": {[^}]*}' report."${binds:+on}" >counts."${binds:+on}"
done
expect_same "recorded or not, the same faults" "$(cat faults.)" "$(cat faults.on)"
expect_same "recorded or not, the same counters" "$(cat counts.)" "$(cat counts.on)"
expect_lines "which are there" 2 "$(cat counts.on)"

# The benchmark's binds: several blocks, two threads, growth by realloc; as many binds as it made.
for workload in bind bind-thr growth video1080; do
    preloaded TIDEMARK_BINDS=binds "$build/bench/faults" --workload $workload --binds 12 --json >out
    expect_match "$workload: binds were seen" '^[0-9]+( [0-9]+)*$' "$(field bind binds)"
    expect_same "$workload: no fault in the last" 0 "$(field minor_faults binds | sed 's/.* //')"
done
preloaded TIDEMARK_BINDS=binds "$build/bench/faults" --workload bind --binds 12 >/dev/null
expect_same "bind: as many as it made" "$(seq 12 | tr '\n' ' ' | sed 's/ $//')" "$(field bind binds)"
expect_same "the command finds them steady" 11 "$("$build/tidemark" binds binds | awk '$1 == "steady" && $3 == "minor_faults" { print $2 }')"

# What spills is no claim.
preloaded TIDEMARK_BINDS=binds TIDEMARK_HEAP_MEM=none ./mirror 40000000000 3 none >/dev/null || true
expect_same "a request that retained blocks cannot serve is a spill" "0 0 0/1 1 1" "$(field claims binds)/$(field spilled binds)"

# Calls of the driver. Every form of the function counts.
sim() {
    env LD_LIBRARY_PATH="$build/simcuda:$build" "$@"
}
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip boundaries on the simulated driver: there is a GPU here"
else
    for name in cuMemAlloc cuMemAlloc_v2; do
        sim LD_PRELOAD="$library" TIDEMARK_BINDS=binds TIDEMARK_BIND_ON=$name "$build/tests/alloc_steps" gpa2 4096 5 >/dev/null
        expect_same "$name: four binds between five calls" "1 2 3 4" "$(field bind binds)"
        expect_same "$name: an allocation each" "1 1 1 1" "$(field driver_calls binds)"
        expect_same "$name: the boundary is named" cuMemAlloc "$(head_of binds)"
    done
    for route in plt dlsym gpa; do
        client=$build/tests/alloc_steps
        [ $route != plt ] || client=${client}_plt
        sim LD_PRELOAD="$library" TIDEMARK_BINDS=binds TIDEMARK_BIND_ON=cuMemAlloc "$client" $route 4096 3 >/dev/null
        expect_same "by $route, too" "1 2" "$(field bind binds)"
    done
    expect_same "a name that is not hooked is refused" \
        "tidemark: TIDEMARK_BIND_ON=cuLaunchGrid: is not a driver function that this library stands before; the default staging is in force" \
        "$(sim LD_PRELOAD="$library" TIDEMARK_BINDS=binds TIDEMARK_BIND_ON=cuLaunchGrid ./mirror 1000000 2 page 2>&1 >/dev/null)"
    expect_same "and staging bounds binds" "staging 1 2" "$(head_of binds) $(field bind binds)"

    # The program's own binds, with phases, in the place of what is inferred.
    sim TIDEMARK_BINDS=binds "$build/tests/runtime" 12 >/dev/null
    expect_same "explicit binds" "explicit 1 2 3 4 5 6 7 8 9 10 11 12" "$(head_of binds) $(field bind binds)"
    expect_same "on their slot" 0 "$(field slot binds | tr ' ' '\n' | sort -u)"
    expect_same "spills of the first" "40 0 0 0 0 0 0 0 0 0 0 0" "$(field spilled binds)"
    expect_same "claims of the others" "0 40 40 40 40 40 40 40 40 40 40 40" "$(field claims binds)"
    expect_same "bytes that were shipped" 6688 "$(field bytes binds | tr ' ' '\n' | sort -u)"
    expect_match "driver calls of the first" '^2( 0){11}$' "$(field driver_calls binds)"
    expect_match "memory calls of the first" '^[1-9][0-9]*( 0){11}$' "$(field memory_calls binds)"
    expect_same "five phases in each" 60 "$(grep -cE '"phase": "(stage|record|upload|run|end)"' binds)"
    expect_match "faults of the first bind are somebody's" '^[1-9][0-9]*( 0){11}$' "$(field minor_faults binds)"
    sim TIDEMARK_BINDS=binds TIDEMARK_RETAIN=none "$build/tests/runtime" 3 >/dev/null
    expect_same "without retained blocks, too" "1 2 3" "$(field bind binds)"
fi

# A filter may end the program for what a reading asks of the kernel: nothing is read under one.
expect_same "under a filter the program goes on, and that is said" \
    "filtered tidemark: cannot write the record of binds to binds: the program installed a seccomp filter [0]" \
    "$(preloaded TIDEMARK_BINDS=binds ./mirror 1000000 5 filter >out 2>err; code=$?; echo "$(cat out) $(cat err) [$code]")"

# Two threads at once, and one that begins a bind which another ends.
preloaded TIDEMARK_BINDS=binds "$build/bench/faults" --workload bind-mt --binds 100 >/dev/null
expect_same "binds do not overlap" "" "$(sed -n 's/.*"start_ns": \([0-9]*\), "wall_ns": \([0-9]*\).*/\1 \2/p' binds |
    awk '$1 < end { print "at " $1 } { end = $1 + $2 }')"
preloaded TIDEMARK_BINDS=binds ./mirror 1000000 3 thread >/dev/null
expect_same "what belongs to no one thread is null" "null null null" "$(field thread_cpu_ns binds)"
expect_match "what belongs to all is not" '^([1-9][0-9]* ){2}[1-9][0-9]*$' "$(field cpu_ns binds)"

# Where it goes.
preloaded TIDEMARK_BINDS=%p.binds sh -c './mirror 1000000 2 page >/dev/null; true'
expect_same "%p makes a file for each process" 2 "$(find . -name '[0-9]*.binds' | grep -c .)"
"$build/tidemark" run --binds relative -- sh -c 'cd /; exec "$0" 1000000 3 page' "$expect_work/mirror" >/dev/null
expect_same "the command's option; a relative path is meant for where it was given" "1 2 3" "$(field bind relative)"
expect_match "stderr" '^\{"bind": 2, ' "$(preloaded TIDEMARK_BINDS=stderr ./mirror 1000000 2 page 2>&1 >/dev/null)"
expect_match "what cannot be written is one line" '^tidemark: cannot write the record of binds to /nowhere/binds: error 2 \(ENOENT\)$' \
    "$(preloaded TIDEMARK_BINDS=/nowhere/binds ./mirror 1000000 2 page 2>&1 >/dev/null)"
expect_same "switched off, nothing is recorded" "" "$(rm -f binds; preloaded TIDEMARK=off TIDEMARK_BINDS=binds ./mirror 1000000 2 page >/dev/null; ls binds 2>/dev/null || true)"
preloaded TIDEMARK_BINDS=binds TIDEMARK_REPORT=report ./mirror 1000000 2 page >/dev/null
expect_match "beside a report" '^heap$' "$(cat report)"
expect_same "both are written" "1 2" "$(field bind binds)"
preloaded TIDEMARK_BINDS=binds ./mirror 1000000 1000 page >/dev/null
expect_same "a thousand binds" 1000 "$(field bind binds | sed 's/.* //')"
expect_end
