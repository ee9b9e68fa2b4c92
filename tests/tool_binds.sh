#!/bin/sh
# `tidemark binds`: the sequence as it was recorded, stages by what the counts say, and the least
# of sums, which is not the sum of the least. Usage: tool_binds.sh FOLDER.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"

# line BIND SLOT PHASE WALL FAULTS: all other figures are 0, those of the thread unknown
line() {
    printf '{"bind": %s, "slot": %s, "phase": %s, "start_ns": 0, "wall_ns": %s, "cpu_ns": 0, ' "$1" "$2" "$3" "$4"
    printf '"thread_cpu_ns": null, "minor_faults": %s, "thread_minor_faults": null, ' "$5"
    printf '"major_faults": 0, "thread_major_faults": null, "voluntary_switches": 0, '
    printf '"involuntary_switches": 0, "memory_calls": 0, "driver_calls": 0, "claims": 0, "spilled": 0, "bytes": 0}\n'
}
head_line() {
    printf '{"schema": "tidemark.binds/1", "tidemark": "0.1.0", "process_id": 42, "program": "train", "boundary": "%s"}\n' "${1:-staging}"
}
# record FAULTS...: a bind each
record() {
    head_line
    number=0
    for faults; do
        number=$((number + 1))
        line $number null null $((1000 + faults)) "$faults"
    done
}
# row STAGE FIGURE: "BINDS MIN MEDIAN MAX"
row() {
    awk -v stage="$1" -v figure="$2" '$1 == stage && $3 == figure { print $2, $4, $5, $6 }' out
}

# Cold, decay, steady: a known sequence.
record 931 112 216 164 10 2 1 1 2 1 2 0 >binds
runs 0 "$tidemark" binds binds
err ''
expect_match "whose it is" '^train, process 42, tidemark 0.1.0: 12 binds, bounded by staging$' "$(cat out)"
expect_match "the sequence" '^minor_faults, bind by bind: 931 112 216 164 10 2 1 1 2 1 2 0$' "$(cat out)"
expect_same "the first one is cold" "1 931 931 931" "$(row cold minor_faults)"
expect_same "then it decays" "4 10 138 216" "$(row decay minor_faults)"
expect_same "then it is steady" "7 0 1 2" "$(row steady minor_faults)"
expect_same "times of the same binds" "7 1000 1001 1002" "$(row steady wall_ns)"
expect_same "what is not known is not made up" "7 - - -" "$(row steady thread_minor_faults)"
expect_same "no total, and no mean" "" "$(grep -iE 'total|mean|average' out || true)"

# Not steady before the counts agree, and never by one bind.
record 931 112 216 164 10 2 1 1 >binds
runs 0 "$tidemark" binds binds
expect_match "not steady yet" '^steady +0  the last counts do not agree: not steady yet$' "$(cat out)"
expect_same "all but the first one decay" "7 1 10 216" "$(row decay minor_faults)"
record 12 >binds
runs 0 "$tidemark" binds binds
expect_match "one bind is cold" '^cold +1  minor_faults +12 ' "$(cat out)"
expect_match "and nothing else" '^steady +0 ' "$(cat out)"
record 9 5 5 5 5 >binds
runs 0 "$tidemark" binds binds --figure wall_ns
expect_match "another figure's sequence" '^wall_ns, bind by bind: 1009 1005 1005 1005 1005$' "$(cat out)"
record 9 50 5 50 5 >binds
runs 0 "$tidemark" binds binds --steady 2
expect_same "what the caller knows to be steady" "2 5 27 50" "$(row steady minor_faults)"

# Slots: the first bind of each is cold, wherever it comes.
{ head_line explicit; line 1 0 null 10 100; line 2 0 null 10 3; line 1 1 null 10 90
    for number in 3 4 5 6; do line $number 0 null 10 0; done; line 2 1 null 10 0; } >binds
runs 0 "$tidemark" binds binds
expect_match "in the order in which they ended" 'bind by bind: 100 3 90 0 0 0 0 0$' "$(cat out)"
expect_same "each slot's first is cold" "2 90 95 100" "$(row cold minor_faults)"
expect_same "the others are not" "5 0 0 0" "$(row steady minor_faults)"

# Phases: binds {(1, 4), (3, 1)} cost at least 4, not 1 + 1.
{ head_line explicit; line 1 0 '"a"' 1 0; line 1 0 '"b"' 4 0; line 2 0 '"a"' 3 0; line 2 0 '"b"' 1 0; } >binds
runs 0 "$tidemark" binds binds
expect_match "two binds" ' 2 binds, ' "$(cat out)"
expect_match "what a bind costs is the sum of its phases, where nothing else is known" 'wall_ns +5 +5 +5$' "$(grep '^cold' out)"
expect_same "phases of the warm bind" "1 4 4 4" "$(row sum wall_ns)"
runs 0 "$tidemark" binds binds --json
{ head_line explicit
    line 1 0 '"a"' 9 0; line 1 0 null 20 0
    line 2 0 '"a"' 1 0; line 2 0 '"b"' 4 0; line 2 0 null 6 0
    line 3 0 '"a"' 3 0; line 3 0 '"b"' 1 0; line 3 0 '"a"' 0 0; line 3 0 null 7 0; } >binds
runs 0 "$tidemark" binds binds --steady 2
expect_same "the first phase" "2 1 2 3" "$(row a wall_ns)"
expect_same "the second phase" "2 1 2 4" "$(row b wall_ns)"
expect_same "the least of the sums is not the sum of the least" "2 4 4 5" "$(row sum wall_ns)"
expect_same "the binds themselves have what lies between phases" "2 6 6 7" "$(row steady wall_ns)"
if command -v python3 >/dev/null; then
    runs 0 "$tidemark" binds binds --steady 2 --json
    expect_same "the JSON parses, and says the same" "tidemark.binds-summary/1 3 4 {'min': 6, 'median': 6, 'max': 7} None None" "$(
        python3 -c 'import json
r = json.load(open("out"))
print(r["schema"], r["binds"], r["phases"][""]["wall_ns"]["min"], r["steady"]["wall_ns"],
      r["decay"], r["steady"]["thread_cpu_ns"])')"
else
    echo "skip: python3 is not installed: the JSON is not parsed"
fi

# Two sets in one process number their binds alike.
{ head_line explicit; line 1 0 null 10 100; line 2 0 null 10 5; line 1 0 null 10 90; line 2 0 null 10 5; } >binds
runs 0 "$tidemark" binds binds
expect_match "none is taken for another" 'bind by bind: 100 5 90 5$' "$(cat out)"

# Records that are cut, lost or none.
{ record 9 5 5 5 5; echo '{"lost": 3}'; } >binds
runs 0 "$tidemark" binds binds
expect_match "lost records are said" '^3 more were lost' "$(cat out)"
record 9 5 5 5 5 | head -c -20 >binds
runs 0 "$tidemark" binds binds
expect_match "a line that was cut is left out" 'bind by bind: 9 5 5 5$' "$(cat out)"
head_line >binds
runs 2 "$tidemark" binds binds
err_like '^tidemark: binds: no bind was recorded: staging was live all the time, or there was none; TIDEMARK_BIND_ON='
head_line explicit >binds
runs 2 "$tidemark" binds binds
err 'tidemark: binds: no bind was recorded'
: >binds
runs 2 "$tidemark" binds binds
refuses() {
    runs 2 "$tidemark" binds binds
    err "tidemark: binds: $1"
    out ''
}
echo '{"schema": "other"}' >binds
refuses 'line 1: not a record of binds, whose first line has the schema "tidemark.binds/1"'
record 9 | sed 1d >binds
refuses 'line 1: not a record of binds, whose first line has the schema "tidemark.binds/1"'
record 9 5 | sed '3s/"claims": 0/"claims": -1/' >binds
refuses 'line 3: not the record of a bind'
record 9 5 | sed '3s/"claims": 0, //' >binds
refuses 'line 3: not the record of a bind'
record 9 5 | sed '2s/"bind": 1/"bind": 0/' >binds
refuses 'line 2: not the record of a bind'
record 9 5 | sed '2s/.*/[1]/' >binds
refuses 'line 2: not a JSON object'
{ head_line; i=0; while [ $i -le 32 ]; do line 1 0 "\"phase$i\"" 1 1; i=$((i + 1)); done; } >binds
refuses 'line 34: more than 32 names of phases'
rm binds
runs 2 "$tidemark" binds binds
err 'tidemark: binds: No such file or directory'

# The command line.
record 9 5 5 5 5 >binds
runs 2 "$tidemark" binds
err "tidemark: binds: no record is named; \`tidemark binds --help\` shows how"
runs 2 "$tidemark" binds binds other
err 'tidemark: binds: other: one record is expected'
runs 2 "$tidemark" binds binds --figure minor_fault
err 'tidemark: --figure=minor_fault: no figure is called so; did you mean minor_faults?'
for count in 0 x -1 ''; do
    runs 2 "$tidemark" binds binds --steady="$count"
    err "tidemark: --steady=$count: must be a number above 0"
done
runs 2 "$tidemark" binds binds --steady 5
err 'tidemark: --steady=5: of 5 binds the first is cold'
runs 1 sh -c "'$tidemark' binds binds >/dev/full"
runs 0 "$tidemark" binds --help
expect_match "help lists the figures" '^  minor_faults +page faults' "$(cat out)"

if command -v gnuplot >/dev/null; then
    runs 0 "$tidemark" binds binds --svg plot.svg
    expect_match "the plot is one" '<svg ' "$(cat plot.svg)"
    expect_match "of the figure" '>minor_faults<' "$(cat plot.svg)"
else
    echo "skip the plot: gnuplot is not installed"
fi
expect_end
