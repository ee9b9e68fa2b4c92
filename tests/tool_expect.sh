#!/bin/sh
# `tidemark run --expect`: exit 4 and the value when a counter is off, the program's own end
# otherwise, and nothing left behind. Usage: tool_expect.sh BUILD_FOLDER POOL_STATS
set -eu
build=$1 stats=$2
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
export TMPDIR="$expect_work"
unset TIDEMARK TIDEMARK_REPORT TIDEMARK_REPORT_FORMAT

# runs CODE ERROR OPTION... -- PROGRAM...: stdout goes to ./out
runs() {
    code=$1 error=$2
    shift 2
    what=$*
    set +e
    "$build/tidemark" run "$@" >"$expect_work/out" 2>"$expect_work/err"
    got=$?
    set -e
    expect_same "$what: exit code" "$code" "$got"
    expect_same "$what: standard error" "$error" "$(cat "$expect_work/err")"
    expect_same "$what: no file is left" "" "$(find "$expect_work" -name 'tidemark-*')"
}
stager=$expect_work/stager
cc -O1 -fno-builtin "$(dirname "$0")/preload/stager.c" -o "$stager"

# 100 staging blocks that live at once, and one more: 101 claims, 100 of them new.
runs 0 '' --expect 'heap.claims==101' -- "$stager" 100
expect_same "the program's output is its own" "all 1 again" "$(cat "$expect_work/out")"
for right in '<=101' '<102' '>=101' '>100' '==101' '!=102'; do
    runs 0 '' --expect "heap.claims$right" -- "$stager" 100
done
for wrong in '<=100' '<101' '>=102' '>101' '==102' '!=101'; do
    runs 4 "tidemark: expected heap.claims$wrong, but it was 101" --expect "heap.claims$wrong" -- "$stager" 100
done
runs 0 '' --expect 'heap.spilled<=0' --expect 'heap.high_water_bytes<1GiB' -- "$stager" 100
runs 4 'tidemark: expected heap.live_bytes>1KiB, but it was 0' --expect 'heap.live_bytes>1KiB' -- "$stager" 100
runs 4 'tidemark: expected heap.claims==1, but it was 101
tidemark: expected heap.born==0, but it was 100' \
    --expect 'heap.claims==1' --expect 'heap.spilled==0' --expect 'heap.born==0' -- "$stager" 100

# What the program says of itself comes first; only one that ended well is looked at.
runs 7 '' --expect 'heap.claims==4711' -- sh -c 'exit 7'
runs 0 '' --expect 'heap.claims==0' -- sh -c true
runs 4 'tidemark: expected heap.claims!=0, but it was 0' --expect 'heap.claims!=0' -- sh -c true
"$build/tidemark" run --expect 'heap.claims==4711' -- sh -c "kill -KILL \$\$" 2>"$expect_work/err" || code=$?
expect_same "a program that dies of a signal: exit code" 137 "$code"
expect_same "a program that dies of a signal: nothing is said" "" "$(grep tidemark "$expect_work/err" || true)"
runs 127 'tidemark: no-such-program: No such file or directory' --expect 'heap.claims==1' -- no-such-program

# Without a report nothing is as expected.
runs 4 'tidemark: --expect: the program left no report' --expect 'heap.spilled<=0' -- env TIDEMARK=off true
TIDEMARK=off runs 4 'tidemark: --expect: the program left no report' --expect 'heap.spilled<=0' -- true

# It is the program that `run` started that is judged, whatever becomes of it, and not its children.
runs 0 '' --expect 'heap.claims==101' -- sh -c "exec $stager 100"
runs 0 '' --expect 'heap.claims==0' -- sh -c "$stager 100; true"

# A report that the user asks for is as it would have been.
runs 0 '' --report "$expect_work/report" --expect 'heap.claims==101' -- "$stager" 100
expect_match "a report beside it" '^  claims +101$' "$(cat "$expect_work/report")"
runs 4 'tidemark: expected heap.claims<1, but it was 101' --report "$expect_work/report" \
    --report-format json --expect 'heap.claims<1' -- "$stager" 100
expect_match "in either form" '"heap": {"claims": 101,' "$(cat "$expect_work/report")"

# The command line.
rule='must be a counter, one of <= < >= > == !=, and a number'
for text in '' x heap.claims 'heap.claims=3' 'heap.claims<=' 'heap.claims<=-1' 'heap.claims<=x' '<=3' 'heap.claims 3'; do
    runs 2 "tidemark: --expect=$text: $rule" --expect "$text" -- touch "$expect_work/started"
done
runs 2 'tidemark: --expect=heap.spiled<=0: no counter is called heap.spiled; did you mean heap.spilled?' \
    --expect 'heap.spiled<=0' -- touch "$expect_work/started"
# shellcheck disable=SC2016 # no command is meant
runs 2 'tidemark: --expect=xyzzy<=0: no counter is called xyzzy; `tidemark run --help` lists them' \
    --expect 'xyzzy<=0' -- touch "$expect_work/started"
expect_same "nothing was started" "" "$(find "$expect_work" -name started)"
export TMPDIR=/nowhere
runs 126 'tidemark: --expect: /nowhere: No such file or directory' --expect 'heap.claims<1' -- true
export TMPDIR="$expect_work"
expect_same "every counter is listed, and is one" \
    "$(sed -n 's/^STAT(\([a-z_]*\), *\([a-z_]*\),.*/\1.\2/p' "$stats")" \
    "$("$build/tidemark" run --help | sed '1,/^Counters/d' | awk '{ print $1 }')"
all=
for counter in $("$build/tidemark" run --help | sed '1,/^Counters/d' | awk '{ print $1 }'); do
    all="$all --expect $counter>=0"
done
# shellcheck disable=SC2086
runs 0 '' $all -- true
expect_end
