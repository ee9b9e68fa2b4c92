#!/bin/sh
# A ceiling on the heap is refused at exactly the step at which it is full, with ENOMEM and one
# line that can be checked by hand; what is idle goes back first; what the program has stays
# usable; and the account follows memory as it enters and leaves. Usage: preload_heap.sh BUILD_FOLDER
set -eu
build=$1
sources=$(cd "$(dirname "$0")/preload" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$expect_work"
${CC:-cc} -O1 -fno-builtin "$sources/heap_ceiling.c" -o heap_ceiling -pthread
MIB=1048576

# under CEILING [NAME=VALUE...] -- COMMAND...: what it prints; lines in err, a report in report.
under() {
    ceiling=$1
    shift
    env LD_PRELOAD="$build/libtidemark.so" TIDEMARK_HEADROOM=0 TIDEMARK_HEAP_MEM="$ceiling" \
        TIDEMARK_REPORT="$expect_work/report" TIDEMARK_REPORT_FORMAT=json "$@" 2>err || echo "exit $?"
}

# account NAME: a number of the heap's account in the last report.
account() {
    sed -n 's/.*"name": "heap memory".*"'"$1"'": \([0-9]*\).*/\1/p' report
}

# told NAME [LINE]: a number of a line of the last run, the first if none is named.
told() {
    sed -n "${2:-1}p" err | sed -n "s/.*[ ,:]$1 \([0-9]*\) B.*/\1/p"
}

# checks WHAT CEILING: the first line's numbers add up.
checks() {
    expect_match "$1: it is told" "^tidemark: heap memory refused, over the ceiling: asked .* from TIDEMARK_HEAP_MEM=$2, request \(usable [0-9]+ B .*, headroom 0 B\), short by [0-9]+ B" "$(head -n 1 err)"
    expect_same "$1: held and reserved pass the ceiling by what is short" \
        "$(($(told held) + $(told 'would reserve') - $(told ceiling)))" "$(told 'short by')"
    expect_same "$1: what was held is within the ceiling" yes \
        "$([ "$(told held)" -le "$(told ceiling)" ] && echo yes)"
    expect_same "$1: the peak is within the ceiling" yes \
        "$([ "$(account peak_charged_bytes)" -le "$(told ceiling)" ] && echo yes)"
}

# Each way to allocate. Half a MiB is more than the process holds of itself, and less than a step.
for way in malloc calloc realloc memalign aligned_alloc posix_memalign; do
    expect_same "$way: ten steps of 1 MiB fit 10.5 MiB" "granted 10 refused 2 error 12" \
        "$(under 10752KiB ./heap_ceiling steps $way $MIB 12)"
    checks "$way" 10752KiB
    expect_same "$way: what was asked" $MIB "$(told asked)"
    expect_same "$way: its refusals are counted" 2 "$(account refusals)"
    expect_lines "$way: and told" 2 "$(cat err)"
done

# Ordinary sizes enter in extents; the step is exact to one of them.
for size in 16 100 1000 5000 14000 30000 60000; do
    out=$(under 4MiB ./heap_ceiling steps malloc $size 500000)
    expect_match "$size bytes: refused with ENOMEM, and again" '^granted [0-9]+ refused 1001 error 12$' "$out"
    checks "$size bytes" 4MiB
    granted=$(echo "$out" | cut -d' ' -f2)
    expect_same "$size bytes: four fifths of the ceiling served them" yes \
        "$([ $((granted * size * 10)) -ge $((8 * 4 * MIB - 10 * 81920)) ] && echo yes)"
    expect_same "$size bytes: and not more than all of it" yes \
        "$([ $((granted * size)) -le $((4 * MIB)) ] && echo yes)"
done

# The same where nothing is retained, so that jemalloc serves everything.
expect_same "without retention: ten steps of 1 MiB and a page" "granted 10 refused 2 error 12" \
    "$(under 10752KiB TIDEMARK_RETAIN=0 ./heap_ceiling steps malloc $MIB 12)"
checks "without retention" 10752KiB
expect_same "in a limited address space" "granted 10 refused 2 error 12" \
    "$(ulimit -v 4000000 && under 10752KiB ./heap_ceiling steps malloc $MIB 12)"
checks "in a limited address space" 10752KiB

expect_same "a retained block that cannot grow stays as it is" "refused 1 intact 1 usable 1" \
    "$(under 10752KiB ./heap_ceiling growth $((4 * MIB)) $((20 * MIB)))"
expect_same "an ordinary block that cannot grow stays as it is" "refused 1 intact 1 usable 1" \
    "$(under 10752KiB ./heap_ceiling growth 5000 200000000)"
expect_same "a large ordinary block that cannot grow stays as it is" "refused 1 intact 1 usable 1" \
    "$(under 10752KiB TIDEMARK_RETAIN=0 ./heap_ceiling growth $MIB $((20 * MIB)))"
expect_same "at its ceiling a program goes on with what it has" "small again 1 one 1 large 1" \
    "$(under 10752KiB ./heap_ceiling life)"

expect_same "idle retained blocks make room for ordinary sizes" "first 8 second 200" \
    "$(under 10752KiB ./heap_ceiling turns $MIB 8 40000 200)"
expect_lines "and nothing was refused" 0 "$(cat err)"
expect_same "idle extents make room for retained blocks" "first 200 second 9" \
    "$(under 10752KiB ./heap_ceiling turns 40000 200 $MIB 9)"
expect_same "small blocks that were freed make room" "first 8000 second 9" \
    "$(under 10752KiB ./heap_ceiling turns 1000 8000 $MIB 9)"

# What has left is refunded, to the byte.
under 10752KiB ./heap_ceiling rounds 0 1 1 >out
start=$(account charged_bytes)
for case in "3 $MIB 12" "3 40000 300" "3 100 30000" "1 16 400000" "2 40000000 1"; do
    # shellcheck disable=SC2086
    under 64MiB ./heap_ceiling rounds $case >out
    expect_same "rounds of $case: the account is where it started" "$start" "$(account charged_bytes)"
    expect_same "rounds of $case: there was something" yes \
        "$([ "$(account peak_charged_bytes)" -gt $((MIB * 3)) ] && echo yes)"
done

expect_same "racing threads keep their blocks" "sound 1" "$(under 10752KiB ./heap_ceiling threads)"
checks "racing threads" 10752KiB
# A thread's cache is charged and never refused; eight of them take less than 40 KiB each.
expect_same "threads that first allocate at the ceiling live" "ended 8 got 0" \
    "$(under 2MiB ./heap_ceiling late)"
expect_same "and pass it by their caches alone" yes \
    "$([ "$(account peak_charged_bytes)" -le $((2 * MIB + 8 * 40960)) ] && echo yes)"

expect_same "a child starts with what its parent has charged" "child 4 parent 4" \
    "$(under 10752KiB ./heap_ceiling child 6 0)"
expect_same "an idle row makes room for packed blocks" "first 1 second 12" \
    "$(under 64MiB ./heap_ceiling turns $((40 * MIB)) 1 $((4 * MIB)) 12)"
expect_same "which are retained, all of them" 13 \
    "$(sed -n 's/.*"heap": {"claims": \([0-9]*\).*/\1/p' report)"

expect_same "idle memory is no charge of the child" "child 4 parent 4" \
    "$(under 10752KiB ./heap_ceiling child 6 3)"

expect_same "refused requests take no address space" "refused 1001 space 0" \
    "$(under 10752KiB ./heap_ceiling space $((100 * MIB)) 1000)"
expect_same "nor those that jemalloc would map" "refused 1001 space 0" \
    "$(under 10752KiB ./heap_ceiling space 65000000000 1000)"

# A share is of what headroom leaves of the memory that the process may use, exactly.
for case in '50% 0.15 50 15' '100% 0 100 0' '12.5% 0.5 12.5 50'; do
    # shellcheck disable=SC2086
    set -- $case
    under "$1" TIDEMARK_HEADROOM="$2" ./heap_ceiling steps malloc 16 1 >out
    usable=$(account usable_bytes)
    expect_same "$1 of usable memory less $2" \
        "$(awk -v u="$usable" -v s="$3" -v f="$4" 'BEGIN {
            left = u - int((u * f + 99) / 100); printf "%.0f", int(left * s / 100) }')" \
        "$(account ceiling_bytes)"
done
expect_match "a size above what headroom leaves is cut to it" '"ceiling_source": "request capped by headroom"' \
    "$(under 1000TiB TIDEMARK_HEADROOM=0.5 ./heap_ceiling steps malloc 16 1; cat report)"

# However low the ceiling, what is said is ours and what ends the program is its own.
expect_same "a program that allocates nothing under a ceiling of a byte" "" "$(under 1 /bin/true)"
expect_same "and nothing is said" "" "$(cat err)"
under 1 ls / >out
expect_same "one that allocates is refused by us alone" "" \
    "$(grep -v -e '^tidemark: heap memory refused, ' -e '^ls: ' err || true)"

# Where a ceiling cannot hold, the program is told.
${CC:-cc} -O1 "$sources/own_malloc.c" -o own_malloc
under 1MiB ./own_malloc >out
expect_same "a program with a malloc of its own" \
    "tidemark: TIDEMARK_HEAP_MEM has no effect here: the program has its own malloc" "$(cat err)"
expect_same "and its report has no ceiling" "" "$(account charged_bytes)"

# Nothing is counted where nothing was asked for.
under none ./heap_ceiling steps malloc $MIB 12 >out
expect_same "without a ceiling everything is granted" "granted 12 refused 0 error 0" "$(cat out)"
expect_same "and no account is kept" "" "$(account charged_bytes)"

expect_end
