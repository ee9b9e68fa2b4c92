#!/bin/sh
# `tidemark compare`: A and B take turns, are judged only where they can be, and what cannot be
# told is called so. Usage: tool_compare.sh FOLDER, where the command and its stand-in library lie.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"

# verdict KEY FILE: of one measure of a JSON result
verdict() {
    awk -v key="\"$1\": {" 'index($0, key) { found = 1 }
        found && /"verdict"/ { gsub(/.*: "|",?$/, ""); print; exit }' "$2"
}

# Turns. A and B write who they are, whatever comes in between.
cat >turn <<'SCRIPT'
#!/bin/sh
printf '%s' "$1" >>"$TURNS"
[ "${LABEL:-}" = "" ] || printf '%s' "$LABEL" >>"$TURNS"
echo "this is dropped"
SCRIPT
chmod +x turn
export TURNS="$scratch/turns"
runs 0 "$tidemark" compare --rounds 6 -- ./turn A --- ./turn B
expect_same "A and B take turns, and a first run of each is not counted" ABABABABABABAB "$(cat turns)"
expect_match "what they differ in is said" '^They differ in the command. 6 rounds, A and B in turns, 2 repetitions.$' "$(cat out)"
expect_match "each command is said" '^B  ./turn B$' "$(cat out)"
expect_match "and every measure" '^minor faults +[0-9.]+ \[[0-9]+-[0-9]+\] +[0-9]' "$(cat out)"
err ''
rm turns
runs 0 "$tidemark" compare --a LABEL=1 --b LABEL=2 -- ./turn x
expect_same "one command under two settings, twelve rounds" x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1x2 "$(cat turns)"
expect_match "the setting is said" '^They differ in LABEL\.' "$(cat out)"
expect_match "with its values" '^B  LABEL=2$' "$(cat out)"
rm turns
# A shell would look at the last of two variables of one name, most programs at the first.
cat >teller.c <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    FILE *turns = fopen(getenv("TURNS"), "a");
    fputs(getenv("LABEL"), turns);
    return fclose(turns);
}
PROGRAM
cc teller.c -o teller
runs 0 env LABEL=outer "$tidemark" compare --rounds 6 --b LABEL=3 -- ./teller
expect_same "what an arm does not set is as it was" outer3outer3outer3outer3outer3outer3outer3 "$(cat turns)"

# A difference that is there, by a count that does not waver much, and none that is not.
cat >toucher.c <<'PROGRAM'
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments)
{
    size_t bytes = strtoul(arguments[1], NULL, 10) << 20;
    char *block = malloc(bytes);
    memset(block, count, bytes);
    return block[bytes / 2] == count ? 0 : 1;
}
PROGRAM
cc -O1 -fno-builtin toucher.c -o toucher
runs 0 "$tidemark" compare --rounds 6 --json -- ./toucher 4 --- ./toucher 8
expect_same "more memory is more faults" "B is higher" "$(verdict minor_faults out)"
expect_same "and more memory" "B is higher" "$(verdict peak_rss_kib out)"
expect_same "the other way round" "B is lower" "$(
    "$tidemark" compare --rounds 6 --json -- ./toucher 8 --- ./toucher 4 >other && verdict minor_faults other)"
expect_same "what never happens is equal" equal "$(verdict major_faults out)"
if command -v python3 >/dev/null; then
    expect_same "the JSON parses, and has both stamps" "tidemark.compare/1 the command 6 ['./toucher', '4'] True" "$(
        python3 -c 'import json, sys
r = json.load(open("out"))
m = r["measures"]["minor_faults"]
print(r["schema"], r["differ_in"], r["rounds"], r["a"]["command"],
      m["ratio"]["low"] > 1 and m["lower"] == 0 and m["higher"] == m["repetitions"] == 2)')"
else
    echo "skip: python3 is not installed: the JSON is not parsed"
fi
runs 0 "$tidemark" compare --rounds 6 -- ./toucher 4 --- ./toucher 4
expect_match "A against itself is a control" '^They differ in nothing: a control\.' "$(cat out)"

# More than one difference is refused before anything runs.
rm -f turns
runs 2 "$tidemark" compare --a LABEL=1 -- ./turn A --- ./turn B
err 'tidemark: compare: A and B differ in more than one thing: the command, LABEL'
runs 2 "$tidemark" compare --a LABEL=1 --b OTHER=2 -- ./turn A
err 'tidemark: compare: A and B differ in more than one thing: LABEL, OTHER'
runs 2 "$tidemark" compare --a LABEL=1 --a OTHER=1 --b LABEL=2 --b OTHER=2 -- ./turn A
err 'tidemark: compare: A and B differ in more than one thing: LABEL, OTHER'
absent turns
runs 0 "$tidemark" compare --rounds 6 --a OTHER=1 --b OTHER=1 --a LABEL=1 --b LABEL=2 -- ./turn A
expect_match "a setting of both is no difference" '^They differ in LABEL\.' "$(cat out)"

# A command that changes while it is measured is another one.
cat >changing <<'SCRIPT'
#!/bin/sh
[ "$(cat count 2>/dev/null | wc -c)" -lt 5 ] || touch -d '2001-01-01' toucher
printf . >>count
SCRIPT
chmod +x changing
runs 2 "$tidemark" compare --rounds 6 -- ./changing ./toucher --- ./turn B
err 'tidemark: compare: A is not what it was: ./changing, or a file that it names, was changed'
rm -f count

# A log is kept, never written over, and judged again.
runs 0 "$tidemark" compare --rounds 6 --log log -- ./toucher 4 --- ./toucher 8
cp out first
expect_lines "two stamps and a sample of each turn" 14 "$(cat log)"
runs 0 "$tidemark" compare --judge log
expect_same "the same is found again" "$(cat first)" "$(cat out)"
rm -f turns
runs 2 "$tidemark" compare --log log -- ./turn A --- ./turn B
err 'tidemark: log: is there already'
absent turns

# What cannot be judged: no stamp, stamps of two machines, samples not in turns, too few.
refuses() { # ERROR: of ./bad
    runs 2 "$tidemark" compare --judge bad
    err "tidemark: $1"
    out ''
}
sed 1d log >bad
refuses 'bad: line 2: a sample before both stamps'
sed 1,2d log >bad
refuses 'bad: line 1: a sample before both stamps'
sed '2s/"stamp".*/"stamp":{}}/' log >bad
refuses 'compare: a stamp has no tidemark'
sed '2s/"kernel":"[^"]*"/"kernel":"1.0"/' log >bad
refuses 'compare: A and B are of another kernel each'
sed '2s/"folder":"[^"]*"/"folder":"\/"/' log >bad
refuses 'compare: A and B are of another folder each'
sed '2s/"environment":{/&"TIDEMARK_DECAY":"1s",/' log >bad
refuses 'compare: A and B differ in more than one thing: the command, TIDEMARK_DECAY'
sed '2s/"schema":"[^"]*"/"schema":"other\/1"/' log >bad
refuses 'bad: line 2: not of the schema tidemark.compare/1'
sed 4d log >bad
refuses 'bad: line 4: the samples did not take turns'
sed '5s/"round":2/"round":3/' log >bad
refuses 'bad: line 5: the samples did not take turns'
sed '4s/"cpu_us":[0-9.]*,//' log >bad
refuses 'bad: line 4: a measure is missing'
sed '2p' log >bad
refuses 'bad: line 3: a second stamp of the same arm'
head -n 12 log >bad
refuses 'bad: 5 whole rounds are not enough: at least 6 are needed'
head -n 2 log >bad
refuses 'bad: line 2: there is no sample'
: >bad
refuses 'bad: line 0: there is no sample'
echo '[]' >bad
refuses 'bad: line 1: not a JSON object'
echo 'x' >bad
refuses 'bad: line 1: not a JSON object'
echo '{}' >bad
refuses 'bad: line 1: not a line of such a log'
rm bad
refuses 'bad: No such file or directory'
head -c -20 log >bad
refuses 'bad: 5 whole rounds are not enough: at least 6 are needed'
sed '1s/"command":\[[^]]*\]/"command":["x"]/; 2s/"command":\[[^]]*\]/"command":["x"]/; 2s/"bytes":[0-9]*/"bytes":1/' log >bad
runs 0 "$tidemark" compare --judge bad
expect_match "two builds of one command can be compared" '^They differ in the build\.' "$(cat out)"

# Samples made up: the signs of the repetitions decide.
make_log() { # "A1 B1 A2 B2 ..." of one measure; the others are 1
    head -n 2 log
    round=0
    for value in $1; do
        round=$((round + 1))
        arm=A
        [ $((round % 2)) -eq 1 ] || arm=B
        printf '{"round":%d,"arm":"%s","wall_us":%s,"cpu_us":1,"minor_faults":1,"major_faults":0,' \
            $(((round + 1) / 2)) $arm "$value"
        printf '"voluntary_switches":1,"involuntary_switches":1,"peak_rss_kib":1}\n'
    done
}
make_log '9 5 9 5 9 5 9 5 9 5 9 5' >bad
runs 0 "$tidemark" compare --judge bad
expect_match "every repetition lower" '^wall us .*0\.556 \[0\.556-0\.556\] +B is lower$' "$(cat out)"
make_log '9 5 9 5 9 5 5 9 5 9 5 9' >bad
runs 0 "$tidemark" compare --judge bad
expect_match "signs that disagree" '^wall us .*not resolvable \(lower in 1, higher in 1 of 2\)$' "$(cat out)"
make_log '9 9 9 9 9 9 9 9 9 9 9 9' >bad
runs 0 "$tidemark" compare --judge bad
expect_match "one number throughout" '^wall us .* equal$' "$(cat out)"

# Commands that fail.
runs 127 "$tidemark" compare -- ./nothing --- ./turn B
err 'tidemark: ./nothing: No such file or directory'
: >plain
runs 126 "$tidemark" compare -- ./turn A --- ./plain
err 'tidemark: ./plain: Permission denied'
runs 1 "$tidemark" compare -- sh -c 'echo first >&2; echo why it failed >&2; exit 3'
err 'tidemark: sh: exit code 3
tidemark:   first
tidemark:   why it failed'
runs 1 "$tidemark" compare -- sh -c 'kill -KILL $$'
err 'tidemark: sh: ended by signal 9 (Killed)'
out ''
runs 2 "$tidemark" compare --rounds 6 --log /nowhere/log -- true
err 'tidemark: /nowhere/log: No such file or directory'
runs 1 sh -c "'$tidemark' compare --judge log >/dev/full"

# The command line.
for count in 0 1 5 1001 x -6 ''; do
    runs 2 "$tidemark" compare --rounds="$count" -- ./turn A
    err "tidemark: --rounds=$count: must be a number from 6 to 1000: fewer rounds repeat too little to tell a difference from chance"
done
runs 2 "$tidemark" compare
err "tidemark: compare: no command is named; \`tidemark compare --help\` shows how"
runs 2 "$tidemark" compare -- true ---
err "tidemark: compare: not every command is named; \`tidemark compare --help\` shows how"
runs 2 "$tidemark" compare -- --- true
runs 2 "$tidemark" compare --judge log -- true
err 'tidemark: compare: --judge runs no command'
runs 2 "$tidemark" compare --a LABEL -- true
err 'tidemark: --a=LABEL: must be NAME=VALUE'
runs 2 "$tidemark" compare --b =1 -- true
err 'tidemark: --b==1: must be NAME=VALUE'
runs 2 "$tidemark" compare --roumds 6 -- true
err 'tidemark: --roumds: unknown option; did you mean --rounds?'
runs 0 "$tidemark" compare --help

# Plots.
if command -v gnuplot >/dev/null; then
    runs 0 "$tidemark" compare --judge log --svg "it's a plot.svg"
    expect_match "the plot is one" '<svg ' "$(cat "it's a plot.svg")"
    expect_match "and names what it shows" '>minor faults<' "$(cat "it's a plot.svg")"
    runs 1 "$tidemark" compare --judge log --svg /nowhere/plot.svg
else
    echo "skip the plot: gnuplot is not installed"
fi
mkdir bin
ln -s "$(command -v sh)" "$(command -v true)" bin
runs 1 env PATH="$scratch/bin" "$tidemark" compare --judge log --svg plot.svg
expect_match "without gnuplot that is said" 'plot.svg: gnuplot did not draw it; is the package gnuplot-nox installed' "$(cat err)"
expect_match "after the result" '^minor faults' "$(cat out)"
expect_end
