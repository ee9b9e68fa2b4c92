#!/bin/sh
# `tidemark plan`: where buffers go and what that takes, with every number that is needed to
# check it; refusals that say which limit it was; and files that cannot be understood, by field,
# line and column. Usage: tool_plan.sh FOLDER PLANS README, where the command and the sample plans
# lie.
plans=$2
readme=$3
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"

# plan CODE FILE [OPTION...]
plan() {
    code=$1
    shift
    runs "$code" timeout 60 "$tidemark" plan "$@"
}

# says TEXT: standard error is this one line
says() {
    err "tidemark: $1"
}

# has TEXT...: standard output has each text
has() {
    for text in "$@"; do
        grep -qF -- "$text" out
        expect_same "$what: \"$text\" in: $(cat out)" 0 $?
    done
}

# space FIELDS [BUFFERS] >PLAN: one space that all addresses of 64 bits reach, named "s"
space() {
    printf '{"spaces": [{"name": "s", "base": 0, "largest_address": "18446744073709551615"%s}],\n' "$1"
    printf ' "buffers": [%s]}\n' "${2:-}"
}

# buffer NAME SIZE ALIGNMENT START END
buffer() {
    printf '{"name": "%s", "size": %s, "alignment": %s, "start": %s, "end": %s, "space": "s"}' "$@"
}

# What is placed. The region of 11 KiB fits the 20 KiB that there are; the 8 KiB are no fact.

cat >region.json <<'END'
{"comment": "three buffers, of which two share their addresses",
 "spaces": [{"name": "device", "base": 4096, "largest_address": 281474976710655,
             "capacity": 20480, "default_capacity": 8192, "unit": 512}],
 "buffers": [
  {"name": "image", "size": 3000, "alignment": 256, "start": 0, "end": 2, "space": "device"},
  {"name": "conv1", "size": 8000, "alignment": 256, "start": 1, "end": 3, "space": "device"},
  {"name": "conv2", "size": 2800, "alignment": 256, "start": 2, "end": 4, "space": "device"}]}
END
plan 0 region.json
says 'region.json: line 3, column 53: spaces[0].default_capacity is ignored: only "capacity" of a space is a limit'
out 'space device: base 4096, largest address 281474976710655, capacity 20480 B (20.00 KiB), unit 512 B
offset  size  alignment  reserved  start  end  name
  8192  3000        256      3072      0    2  image
     0  8000        256      8192      1    3  conv1
  8192  2800        256      2816      2    4  conv2
logical high-water   11264 B (11.00 KiB), 1.000 times the lower bound
peak live            11264 B (11.00 KiB), the lower bound
artefact overhead    0 B
runtime reservation  11264 B (11.00 KiB)'

# Four numbers that differ: the base leaves 28 bytes below the first multiple of 64.
space ', "unit": 1000' "$(buffer a 10 64 0 2), $(buffer b 30 1 1 3)" | sed 's/"base": 0/"base": 100/' >four.json
plan 0 four.json
err ''
out 'space s: base 100, largest address 18446744073709551615, no capacity, unit 1000 B
offset  size  alignment  reserved  start  end  name
    28    10         64        64      0    2  a
    92    30          1        30      1    3  b
logical high-water   122 B, 1.298 times the lower bound
peak live            94 B, the lower bound
artefact overhead    28 B
runtime reservation  1000 B'

space '' >nothing.json
plan 0 nothing.json
has 'logical high-water   0 B' 'peak live            0 B, the lower bound'
space '' "$(buffer all '"18446744073709551615"' 1 0 9223372036854775807)" >all.json
plan 0 all.json
has 'logical high-water   18446744073709551615 B (16777216.00 TiB), 1.000 times the lower bound'

# Refusals: the limit, what it leaves, and where it comes from.

space ', "capacity": 100, "external_peak": 75' "$(buffer a 21 10 0 1)" >capacity.json
plan 3 capacity.json
err ''
out 'space s: base 0, largest address 18446744073709551615, capacity 100 B, unit 1 B, external peak 75 B
refused: buffer a in space s, over the capacity: asked 21 B, would reserve 30 B from offset 0 (address 0) on, held 75 B, limit 100 B from capacity, free 25 B, short by 5 B'
space ', "capacity": 105, "external_peak": 75' "$(buffer a 21 10 0 1)" >fits.json
plan 0 fits.json
space ', "capacity": 100' "$(buffer a 80 1 0 2), $(buffer b 21 10 1 3)" >together.json
plan 3 together.json
has 'refused: buffer b in space s, over the capacity: asked 21 B, would reserve 30 B from offset 80 (address 80) on, held 80 B, limit 100 B from capacity, free 20 B, short by 10 B; peak live, the lower bound, is 110 B'

space '' "$(buffer a 27 10 0 1)" | sed 's/"18446744073709551615"/29/' >address.json
plan 3 address.json
has 'refused: buffer a in space s, the address cannot be represented: asked 27 B, would reserve 30 B from offset 0 (address 0) on, held 0 B, limit 29 B from largest_address, free 29 B, short by 1 B'
sed 's/: 29/: 30/' address.json >fits.json
plan 0 fits.json
space '' "$(buffer a 1 1 0 1)" | sed 's/"base": 0/"base": 16/; s/"18446744073709551615"/15/' >base.json
plan 3 base.json
has 'refused: space s, the address cannot be represented: asked 0 B' 'limit 15 B from largest_address'
sed 's/: 15/: 16/' base.json >end.json
plan 3 end.json
has 'refused: buffer a in space s, the address cannot be represented: asked 1 B, would reserve 1 B from offset 0 (address 16) on, held 16 B, limit 16 B from largest_address, free 0 B, short by 1 B'
sed 's/"size": 1/"size": 0/' end.json >fits.json
plan 0 fits.json

space '' "$(buffer a '"18446744073709551615"' 2 0 1)" >arithmetic.json
plan 3 arithmetic.json
has 'refused: buffer a in space s, the sum of bytes cannot be represented: ' 'limit 18446744073709551615 B (16777216.00 TiB) from 64-bit arithmetic' 'short by 1 B'
space ', "external_peak": "18446744073709551615"' "$(buffer a 1 1 0 1)" >peak.json
plan 3 peak.json
has 'refused: buffer a in space s, the sum of bytes cannot be represented: ' 'from 64-bit arithmetic'

# Spaces are placed one by one.

cat >spaces.json <<'END'
{"spaces": [{"name": "a", "base": 0, "largest_address": 100},
            {"name": "b", "base": 0, "largest_address": 10},
            {"name": "c", "base": 7, "largest_address": 100}],
 "buffers": [{"name": "1", "size": 11, "alignment": 1, "start": 0, "end": 1, "space": "c"},
             {"name": "2", "size": 11, "alignment": 1, "start": 0, "end": 1, "space": "b"},
             {"name": "3", "size": 11, "alignment": 1, "start": 0, "end": 1, "space": "c"}]}
END
plan 3 spaces.json
err ''
out 'space a: base 0, largest address 100, no capacity, unit 1 B
offset  size  alignment  reserved  start  end  name
logical high-water   0 B
peak live            0 B, the lower bound
artefact overhead    0 B
runtime reservation  0 B

space b: base 0, largest address 10, no capacity, unit 1 B
refused: buffer 2 in space b, the address cannot be represented: asked 11 B, would reserve 11 B from offset 0 (address 0) on, held 0 B, limit 10 B from largest_address, free 10 B, short by 1 B

space c: base 7, largest address 100, no capacity, unit 1 B
offset  size  alignment  reserved  start  end  name
     0    11          1        11      0    1  1
    11    11          1        11      0    1  3
logical high-water   22 B, 1.000 times the lower bound
peak live            22 B, the lower bound
artefact overhead    0 B
runtime reservation  22 B'

# Malformed: the field, its line and column, and what it must be.

number='must be a whole number below 2^64, from 2^63 up as a string of digits'
sed 's/, "default_capacity": 8192//' region.json >clean.json

# malformed SED PLACE WHAT: the region, changed, is refused at this line and column
malformed() {
    sed "$1" clean.json >malformed.json
    plan 2 malformed.json
    out ''
    says "malformed.json: line ${2% *}, column ${2#* }: $3"
}
for value in -1 1.0 1e3 -0.5 true false null '"x"' '""' '"-1"' '" 1"' '"1K"' '"0x10"' '[]' '{}' \
    '"18446744073709551616"'; do
    malformed "s/4096/$value/" '2 40' "spaces[0].base $number"
    malformed "s/281474976710655/$value/" '2 65' "spaces[0].largest_address $number"
    malformed "s/20480/$value/" '3 26' "spaces[0].capacity $number"
    malformed "s/512/$value/" '3 41' "spaces[0].unit $number"
    malformed "s/\"unit\": 512/\"external_peak\": $value/" '3 50' "spaces[0].external_peak $number"
    malformed "s/8000/$value/" '6 29' "buffers[1].size $number"
    malformed "6s/256/$value/" '6 48' "buffers[1].alignment $number"
    malformed "6s/: 1/: $value/" '6 62' "buffers[1].start $number"
    malformed "6s/: 3/: $value/" '6 72' "buffers[1].end $number"
done
for value in NaN Infinity 18446744073709551616 9223372036854775808 -9223372036854775809 1e999 01 +1; do
    sed "s/8000/$value/" clean.json >malformed.json
    plan 2 malformed.json
    out ''
    err_like '^tidemark: malformed.json: line 6, column [0-9]+: '
done
malformed '6s/256/0/' '6 48' 'buffers[1].alignment must be at least 1'
malformed 's/512/0/' '3 41' 'spaces[0].unit must be at least 1'
for end in 0 1; do
    malformed "6s/: 3/: $end/" '6 72' 'buffers[1].end must be later than start'
done
for value in 5 null '""' '"\\u00e9"' '"a\\tb"' "\"$(printf '%128s' '' | tr ' ' x)\""; do
    malformed "s/\"conv1\"/$value/" '6 12' 'buffers[1].name must be 1 to 127 characters of printable ASCII'
done
malformed "s/\"conv1\"/\"$(printf '%127s' '' | tr ' ' x)\"/; s/8000/-1/" '6 151' "buffers[1].size $number"
malformed '6s/device/devise/' '6 84' 'buffers[1].space is the name of no space'
for field in name size alignment start end space; do
    malformed "6s/\"$field\": [^,}]*\(, \)\{0,1\}//; 6s/, }/}/" '6 3' "buffers[1] has no \"$field\""
done
for field in base largest_address; do
    malformed "s/\"$field\": [0-9]*, \{0,1\}//" '2 13' "spaces[0] has no \"$field\""
done
malformed 's/"capacity"/"capcity"/' '3 25' 'spaces[0].capcity is not a field that is known here; did you mean "capacity"?'
malformed '6s/"size"/"length"/' '6 31' 'buffers[1].length is not a field that is known here'
malformed '6s/"size"/"capacity"/' '6 33' 'buffers[1].capacity is not a field that is known here'
malformed '4s/"buffers"/"bufers"/' '4 12' 'bufers is not a field that is known here; did you mean "buffers"?'
malformed '6s/"size"/"a\\u001b.[2J"/' '6 3' 'buffers[1].a?.[2J is not a field that is known here'
malformed '6s/"name"/"name": "\\"}]", "comment": {"size": [1, "]}"]}, "name"/; 6s/, "name": "conv1"//; 6s/8000/-1/' \
    '6 60' "buffers[1].size $number"
malformed '6s/{/{"comment": "äöü", /; 6s/8000/-1/' '6 47' "buffers[1].size $number"
malformed '6s/.*/  5,/' '6 3' 'buffers[1] must be an object'
malformed 's/\[{/{/; 3s/}\]/}/' '2 12' 'spaces must be an array of at most 64'

# whole TEXT WHERE WHAT: a file of this text
whole() {
    printf '%s' "$1" >malformed.json
    plan 2 malformed.json
    out ''
    says "malformed.json: line ${2% *}, column ${2#* }: $3"
}
whole '' '1 0' "'[' or '{' expected near end of file"
whole '[]' '1 1' 'must be an object'
whole ' {}' '1 2' 'has no "spaces"'
whole '{"spaces": []}' '1 1' 'has no "buffers"'
whole '{"spaces": [], "buffers": []}' '1 12' 'spaces must name a space'
whole '{"spaces": 5, "spaces": 6}' '1 22' "duplicate object key near '\"spaces\"'"
whole '{"spaces": [], "buffers": {}}' '1 27' 'buffers must be an array of at most 65536'
whole '{"spaces": [{"name": "a", "base": 0, "largest_address": 1},
    {"name": "a", "base": 0, "largest_address": 1}], "buffers": []}' '2 14' \
    'spaces[1].name is the name of another space too'
whole '{"spaces": [' '1 12' "']' expected near end of file"
whole "$(printf '[\033]')" '1 2' "invalid token near '?'"

yes '[' | head -n 10000 >malformed.json
plan 2 malformed.json
says "malformed.json: line 2049, column 1: maximum parsing depth reached near '['"
{ cat clean.json; head -c 10000000 /dev/zero | tr '\0' ' '; } >malformed.json
plan 2 malformed.json
says "malformed.json: line 8, column $((10000000 - $(wc -c <clean.json) + 1)): here end the 10000000 bytes that are read of a file"
head -c 10000000 malformed.json >longest.json
plan 0 longest.json
err ''
{ printf '{"buffers": [], "spaces": ['; yes '0,' | head -n 64; echo '0]}'; } >malformed.json
plan 2 malformed.json
says 'malformed.json: line 1, column 27: spaces must be an array of at most 64'
{ printf '{"spaces": [], "buffers": ['; yes '0,' | head -n 65536; echo '0]}'; } >malformed.json
plan 2 malformed.json
says 'malformed.json: line 1, column 27: buffers must be an array of at most 65536'
plan 2 absent.json
says 'absent.json: No such file or directory'
plan 2 .
says '.: Is a directory'

# Whatever looks like a capacity is ignored, and said once.

sed '6s/"size"/"capacity_default": -1, "size"/; 7s/"size"/"old_capacity": [], "size"/' clean.json >stale.json
plan 0 stale.json
says 'stale.json: line 6, column 41: buffers[1].capacity_default is ignored: only "capacity" of a space is a limit'

# The command line.

plan 2
says "plan: no plan is named; \`tidemark plan --help\` shows how"
plan 2 clean.json region.json
says 'plan: region.json: one plan is expected'
plan 2 clean.json --jsno
says '--jsno: unknown option; did you mean --json?'
runs 1 sh -c "'$tidemark' plan clean.json >/dev/full"
says 'standard output: No space left on device'
runs 0 "$tidemark" plan --help
expect_match "$what" '^usage: tidemark plan PLAN' "$(cat out)"

# The example of the help is a plan.
sed -n '/^  {"spaces"/,/}$/p' out >example.json
plan 0 example.json
err ''

# What the README shows.

sed -n '/^<!-- plan -->$/,/^<!-- \/plan -->$/p' "$readme" | sed '1,2d' | sed '$d' | sed '$d' >shown
sed -n '/^\$ cat plan.json$/,/^\$ tidemark/p' shown | sed '1d;$d' >plan.json
plan 0 plan.json
expect_same "$what: as the README has it" "$(sed '1,/^\$ tidemark/d' shown)" "$(cat err out)"

# Sample plans, and one of ten thousand buffers.

for sample in "$plans"/*.json; do
    plan 0 "$sample"
    err ''
done
awk 'BEGIN {
    print "{\"spaces\": [{\"name\": \"s\", \"base\": 0, \"largest_address\": 9e15}],"
    for (i = 0; i < 10000; i++)
        printf "%s{\"name\": \"%d\", \"size\": %d, \"alignment\": 64, \"start\": %d, \"end\": %d, \"space\": \"s\"}\n",
            i == 0 ? "\"buffers\": [" : ",", i, 1 + i * 7919 % 9973, i, i + 1 + i * 31 % 997
    print "]}"
}' | sed 's/9e15/9000000000000000/' >many.json
plan 0 many.json
err ''
expect_lines "$what: a line each, and six more" 10006 "$(cat out)"

# The object is JSON with all of this in it.

if command -v python3 >/dev/null; then
    runs 0 python3 - "$tidemark" <<'PYTHON'
import json
import subprocess
import sys


def plan(name):
    """The exit code and the object, of which no member has a twin."""
    def once(members):
        assert len(dict(members)) == len(members), members
        return dict(members)

    done = subprocess.run([sys.argv[1], "plan", "--json", name], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.returncode, json.loads(done.stdout, object_pairs_hook=once)


def expect(what, wanted, got):
    if got != wanted:
        sys.exit(f"{what}: wanted {wanted!r}, got {got!r}")


def space(name, placed, verdict, base, largest, more):
    return {"name": name, "placed": placed, "verdict": verdict, "base": base,
            "largest_address": largest, "capacity_bytes": None, "unit_bytes": 1,
            "external_peak_bytes": 0, **more}


def numbers(logical, live, overhead, reservation):
    return {"logical_high_water_bytes": logical, "peak_live_bytes": live,
            "artefact_overhead_bytes": overhead, "runtime_reservation_bytes": reservation}


code, answer = plan("spaces.json")
expect("exit code", 3, code)
expect("version", str, type(answer.pop("tidemark")))
expect("object", {
    "schema": "tidemark.plan/1",
    "placed": False,
    "spaces": [
        space("a", True, "admitted", 0, 100, {**numbers(0, 0, 0, 0), "buffers": []}),
        space("b", False, "the address cannot be represented", 0, 10, {
            "buffer": "2", "offset": 0, "asked_bytes": 11, "reserved_bytes": 11,
            "held_bytes": 0, "limit_bytes": 10, "limit_source": "largest_address",
            "free_bytes": 10, "short_bytes": 1, "peak_live_bytes": None}),
        space("c", True, "admitted", 7, 100, {**numbers(22, 22, 0, 22), "buffers": [
            {"name": "1", "offset": 0, "reserved_bytes": 11},
            {"name": "3", "offset": 11, "reserved_bytes": 11}]})]}, answer)
code, answer = plan("base.json")
expect("the space itself", (3, None), (code, answer["spaces"][0]["buffer"]))
code, answer = plan("together.json")
expect("peak live", (3, 110), (code, answer["spaces"][0]["peak_live_bytes"]))
code, answer = plan("all.json")
expect("all", (0, 2**64 - 1), (code, answer["spaces"][0]["logical_high_water_bytes"]))
code, answer = plan("region.json")
expect("capacity", (0, True, 20480, 512),
       (code, answer["placed"], answer["spaces"][0]["capacity_bytes"],
        answer["spaces"][0]["unit_bytes"]))

code, answer = plan("many.json")
with open("many.json") as file:
    wanted = json.load(file)["buffers"]
live = []
for buffer, place in zip(wanted, answer["spaces"][0]["buffers"], strict=True):
    expect("order", buffer["name"], place["name"])
    live = [(end, low, high) for end, low, high in live if end > buffer["start"]]
    low, high = place["offset"], place["offset"] + place["reserved_bytes"]
    expect("alignment and size", (0, True), (low % 64, 0 <= high - low - buffer["size"] < 64))
    for _, other_low, other_high in live:
        if low < other_high and other_low < high:
            sys.exit(f"{buffer['name']} shares addresses")
    live.append((buffer["end"], low, high))
PYTHON
    out ''
    err ''
    # The sample plans are what their shapes say.
    mkdir shapes
    cp "$plans/shapes.py" shapes
    runs 0 python3 shapes/shapes.py
    for sample in "$plans"/*.json; do
        runs 0 cmp "$sample" "shapes/${sample##*/}"
    done
else
    echo 'skip the JSON object of a plan: python3 is not installed'
fi

expect_end
