#!/bin/sh
# `tidemark admit`, and `tidemark run --admit`: programs that do not fit are refused with every
# number that shows why, before they start; a report that leaves something open is malformed,
# never 0; and what cannot change the answer is not read. Usage: tool_admit.sh FOLDER README,
# where the command and its stand-in library lie in the folder.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"
readme=$2

# record PEAK ARGUMENT OUTPUT ALIAS TEMP: a whole record as JSON, one field a line
record() {
    printf '{\n"peak_memory_in_bytes": %s,\n"argument_size_in_bytes": %s,\n' "$1" "$2"
    printf '"output_size_in_bytes": %s,\n"alias_size_in_bytes": %s,\n' "$3" "$4"
    printf '"temp_size_in_bytes": %s,\n"host_argument_size_in_bytes": 0,\n' "$5"
    printf '"host_output_size_in_bytes": 0,\n"host_alias_size_in_bytes": 0,\n'
    printf '"host_temp_size_in_bytes": 0\n}\n'
}

# change FILE FIELD VALUE >CHANGED: the record with another value
change() {
    sed "s/\"$2\": [0-9]*/\"$2\": $3/" "$1"
}

admit() {
    code=$1
    shift
    runs "$code" timeout 20 "$tidemark" admit "$@"
}

# has LINE...: standard output has each line
has() {
    for line in "$@"; do
        grep -qxF -- "$line" out
        expect_same "$what: has the line \"$line\" in: $(cat out)" 0 $?
    done
}

# said TEXT...: standard error has each text, and standard output nothing
said() {
    out ''
    for text in "$@"; do
        grep -qF -- "$text" err
        expect_same "$what: \"$text\" in: $(cat err)" 0 $?
    done
}

record 90 56 2 0 131072 >witness.json
record 5811906304 7093116 1772928 0 5803032504 >v100.json
record 0 0 0 0 0 >zero.json
record 0 0 0 0 100 >hundred.json

# What is decided, with every number.

admit 3 witness.json --budget 16384
err ''
out 'refused: over the ceiling, short by 114746 B (112.06 KiB)
  requested    16384 B (16.00 KiB), from --budget=16384
  headroom     0.15 by default
  effective    16384 B (16.00 KiB), no cap applied
  program      witness.json: 131130 B (128.06 KiB) = max(peak 90, argument 56 + output 2 - alias 0 + temp 131072)
  reservation  131130 B (128.06 KiB)
  raw peak     90 B
  resident     0 B
  total        131130 B (128.06 KiB)'
admit 3 witness.json --budget 131129
admit 0 witness.json --budget 131130
err ''

admit 0 v100.json --budget 48000000000 --device-limit 0=48000000000 --largest-block 4294967296
err 'tidemark: --budget=48000000000: 48000000000 B (44.70 GiB) is capped to 40800000000 B (38.00 GiB), what headroom leaves of device 0'
out 'admitted, but at a contiguity risk: 34988093696 B (32.59 GiB) to spare
  requested    48000000000 B (44.70 GiB), from --budget=48000000000
  headroom     0.15 by default
  device 0     limit 48000000000 B (44.70 GiB), headroom 7200000000 B (6.71 GiB)
  effective    40800000000 B (38.00 GiB), capped to what headroom leaves of device 0
  program      v100.json: 5811906304 B (5.41 GiB) = max(peak 5811906304, argument 7093116 + output 1772928 - alias 0 + temp 5803032504)
  reservation  5811906304 B (5.41 GiB)
  raw peak     5811906304 B (5.41 GiB)
  resident     0 B
  total        5811906304 B (5.41 GiB)
  contiguity   largest request 5803032576 B (5.40 GiB), largest block 4294967296 B (4.00 GiB)'
admit 0 v100.json --budget 16GB --largest-block 5803032576
expect_match "$what" '^admitted: ' "$(cat out)"
has '  contiguity   largest request 5803032576 B (5.40 GiB), largest block 5803032576 B (5.40 GiB)'

# The request of a device's own limit is capped by nature, and no warning.
admit 0 v100.json --device-limit 0=48000000000
err ''
has '  requested    48000000000 B (44.70 GiB), device by default' \
    '  effective    40800000000 B (38.00 GiB), what headroom leaves of device 0'

# What is resident comes on top.

for resident in 0 17; do
    admit 3 hundred.json --budget $((99 + resident)) --resident "$resident"
    has 'refused: over the ceiling, short by 1 B' "  resident     $resident B" \
        "  total        $((100 + resident)) B"
    admit 0 hundred.json --budget $((100 + resident)) --resident "$resident"
done
admit 0 hundred.json --budget 117 --resident 16 --resident 17
has '  resident     17 B'
admit 2 hundred.json --budget 117 --resident 17 --resident 16
said 'tidemark: --resident=16: must be at least what was given before: a refinement only raises it'

# Devices are paired before the maximum, and programs add up on each.

record 20 100 100 100 0 >first
record 10 20 20 0 90 >second
{ echo '['; cat first; echo ','; cat second; echo ']'; } >array.json
{ echo '{"cuda:0":'; cat first; echo ', "cuda:1":'; cat second; echo '}'; } >object.json
for form in array.json object.json; do
    admit 0 "$form" --budget 130
    admit 3 "$form" --budget 129
    expect_same "$what: unpaired maxima" '' "$(grep -w 190 out)"
done
has 'refused: over the ceiling, short by 1 B' '  reservation  130 B on device cuda:1' \
    '  raw peak     20 B on device cuda:0' \
    '  program      object.json on device cuda:0: 100 B = max(peak 20, argument 100 + output 100 - alias 100 + temp 0)' \
    '  program      object.json on device cuda:1: 130 B = max(peak 10, argument 20 + output 20 - alias 0 + temp 90)'

{ echo '['; cat second; echo ','; cat first; echo ']'; } >reversed.json
admit 0 array.json reversed.json --budget 230
has '  reservation  230 B on device 0'
admit 3 array.json reversed.json --budget 229
admit 0 array.json hundred.json --budget 230
has '  reservation  230 B on device 1'
admit 3 hundred.json array.json --budget 229
admit 3 hundred.json hundred.json hundred.json --budget 299
has 'refused: over the ceiling, short by 1 B' '  reservation  300 B'
admit 2 array.json object.json --budget 1G
said 'tidemark: object.json: device 0 is absent, and array.json has it'
{ echo '['; cat first; echo ']'; } >one.json
admit 2 array.json one.json --budget 1G
said 'tidemark: one.json: device 1 is absent, and array.json has it'
admit 2 one.json array.json --budget 1G
said 'tidemark: one.json: device 1 is absent, and array.json has it'

# The first line that XLA writes.

dump=module_0001.jit_f.sm_8.0_gpu_after_optimizations-memory-usage-report.txt
cat >"$dump" <<'END'
Total bytes used: 226492416 (216.00MiB)

Allocations sorted by size:
END
admit 0 "$dump" --budget 226492416 --largest-block 1
has 'admitted: 0 B to spare' "  program      $dump: 226492416 B (216.00 MiB), the total" \
    '  contiguity   largest request not known, largest block 1 B'
admit 3 "$dump" hundred.json --budget 226492416
has 'refused: over the ceiling, short by 100 B'
for total in '' ' (1B)' '-1 (1B)' '1.5 (1B)' '18446744073709551616 (1B)' '1e3 (1B)' '5(1B)' 5; do
    printf 'Total bytes used: %s' "$total" >malformed.txt
    admit 2 malformed.txt --budget 1G
    said 'tidemark: malformed.txt: line 1, column 19: must be a whole number of bytes below 2^64'
done

# Malformed: the field is named, and beside it all that was reported.

fields=$(record 0 0 0 0 0 | sed -n 's/^"\(.*\)":.*/\1/p')
expect_lines 'the fields of a record' 9 "$fields"
# at FIELD: $place is where its value is in malformed.json
at() {
    line=$(grep -n "\"$1\"" malformed.json)
    place="line ${line%%:*}, column $((${#1} + 5))"
}
for field in $fields; do
    for value in null true false -1 1.0 1e3 '[5, 10]' '{}' '"x"' '""' '"-1"' '" 1"' '"1 "' '"1K"' \
        '"0x10"' '"18446744073709551616"'; do
        change witness.json "$field" "$value" >malformed.json
        admit 2 malformed.json --budget 1G
        at "$field"
        said "tidemark: malformed.json: $place: $field must be a whole number below 2^64, from 2^63 up as a string of digits" \
            'reported: peak_memory_in_bytes ' 'host_generated_code_size_in_bytes absent'
    done
    for value in NaN Infinity 18446744073709551616 9223372036854775808 -9223372036854775809 1e999 \
        01 + "'1'"; do
        change witness.json "$field" "$value" >malformed.json
        admit 2 malformed.json --budget 1G
        line=$(grep -n "\"$field\"" malformed.json)
        said "tidemark: malformed.json: line ${line%%:*}, column "
    done
    grep -v "\"$field\"" witness.json | tr '\n' ' ' | sed 's/, *}/}/' >malformed.json
    admit 2 malformed.json --budget 1G
    said "tidemark: malformed.json: line 1, column 1: $field is absent, and absent is not 0" "$field absent"
    change zero.json "$field" 18446744073709551615 | sed 's/18446744073709551615/"&"/' >large.json
    case $field in
    host_*) admit 2 large.json --budget 1G ;;
    alias_*) admit 2 large.json --budget 1G ;;
    *) admit 3 large.json --budget 1G ;;
    esac
done

for field in host_argument host_output host_alias host_temp; do
    change witness.json "${field}_size_in_bytes" 1 >malformed.json
    admit 2 malformed.json --budget 1G
    at "${field}_size_in_bytes"
    said "tidemark: malformed.json: $place: ${field}_size_in_bytes is not 0: mixed host/default allocation spaces are unsupported"
done

for sizes in '4 8' '8 4'; do
    # shellcheck disable=SC2086 # two numbers
    record 9 $sizes 5 0 >malformed.json
    admit 2 malformed.json --budget 1G
    said 'tidemark: malformed.json: line 5, column 24: alias_size_in_bytes exceeds the arguments or the outputs'
done
record 0 5 5 5 0 >alias.json
admit 0 alias.json --budget 5

# Code is no part of it, whatever it is.
for code in 1000000 -1 null '"x"'; do
    { printf '{"generated_code_size_in_bytes": %s, "total_size_in_bytes": 7,' "$code"
        printf '"host_generated_code_size_in_bytes": %s,' "$code"
        record 5 0 0 0 0 | sed 1d
    } >code.json
    admit 0 code.json --budget 5
    has '  reservation  5 B'
done

# whole TEXT WHY: a report of this text is refused as a whole
whole() {
    printf '%s' "$1" >malformed.json
    admit 2 malformed.json --budget 1G
    said "tidemark: malformed.json: $2"
}
whole '' 'line 1, column 0: '
whole '[]' 'line 1, column 1: 0 records; must be 1 to 1024'
whole '{}' 'line 1, column 1: 0 records; must be 1 to 1024'
whole "[$(cat witness.json), {}]" 'line 11, column 4: [1].peak_memory_in_bytes is absent'
whole "[$(cat witness.json), 5]" 'line 11, column 4: [1] must be a record'
whole "[[$(cat witness.json)]]" 'line 1, column 2: [0] must be a record'
whole '{"cuda:0": null}' 'line 1, column 12: cuda:0 must be a record'
whole '{"peak_memory_in_bytes": [5, 10], "temp_size_in_bytes": [1]}' \
    'line 1, column 26: peak_memory_in_bytes must be '
whole "{\"cuda:0\": $(cat zero.json), \"cuda:1\": $(change zero.json alias_size_in_bytes 1)}" \
    'line 15, column 24: cuda:1.alias_size_in_bytes exceeds'
whole "{\"\": $(cat witness.json)}" "line 1, column 1: a device's name must be "
whole "{\"\\u001b[2J\": $(cat witness.json)}" "line 1, column 1: a device's name must be "
whole '5' 'line 1, column 1: '
whole '{"peak_memory_in_bytes": 5' 'line 1, column 26: '
whole "$(cat witness.json) 1" 'line 11, column 3: '
whole '{"peak_memory_in_bytes": 1, "peak_memory_in_bytes": 1}' 'line 1, column 50: duplicate object key'
whole "{\"a\": $(cat witness.json), \"a\": $(cat witness.json)}" 'line 11, column 6: duplicate object key'
whole "$(printf '[\033]')" "line 1, column 2: invalid token near '?'"
whole '{"peak_memory_in_bytes": -5, "temp_size_in_bytes": true, "alias_size_in_bytes": "x"}' \
    'line 1, column 26: peak_memory_in_bytes must be '
said 'tidemark: malformed.json: reported: peak_memory_in_bytes -5, argument_size_in_bytes absent, output_size_in_bytes absent, alias_size_in_bytes a string, temp_size_in_bytes true,'
whole '{"peak_memory_in_bytes": "7", "temp_size_in_bytes": 1.0, "alias_size_in_bytes": [[]], "output_size_in_bytes": {}, "argument_size_in_bytes": null}' \
    'line 1, column 141: argument_size_in_bytes must be '
said 'reported: peak_memory_in_bytes 7, argument_size_in_bytes null, output_size_in_bytes an object, alias_size_in_bytes an array, temp_size_in_bytes 1.00000,'
yes '[' | head -n 10000 >malformed.json
admit 2 malformed.json --budget 1G
said 'tidemark: malformed.json: line 2049, column 1: maximum parsing depth reached'
{ cat zero.json; head -c 10000000 /dev/zero | tr '\0' ' '; } >malformed.json
admit 2 malformed.json --budget 1G
column=$((10000000 - $(wc -c <zero.json) + 1))
said "tidemark: malformed.json: line 12, column $column: here end the 10000000 bytes that are read"
head -c 10000000 malformed.json >longest.json
admit 0 longest.json --budget 1G
{ echo '['; yes "$(tr '\n' ' ' <zero.json)," | head -n 1024; cat zero.json; echo ']'; } >malformed.json
admit 2 malformed.json --budget 1G
said 'tidemark: malformed.json: line 1, column 1: 1025 records; must be 1 to 1024'
admit 2 absent.json --budget 1G
said 'tidemark: absent.json: No such file or directory'
admit 2 . --budget 1G
said 'tidemark: .: Is a directory'

# Sums that cannot be represented are refused, not wrapped.

record 0 '"18446744073709551615"' 1 0 0 >beyond.json
admit 3 beyond.json --budget 1G
err ''
has 'refused: the sum of bytes cannot be represented' '  reservation  beyond 64 bits' \
    '  program      beyond.json: beyond 64 bits = max(peak 0, argument 18446744073709551615 + output 1 - alias 0 + temp 0)'
record '"18446744073709551615"' 0 0 0 0 >most.json
admit 0 most.json --budget 18446744073709551615
has 'admitted: 0 B to spare'
admit 3 most.json hundred.json --budget 18446744073709551615
has 'refused: the sum of bytes cannot be represented' '  reservation  beyond 64 bits'
admit 3 most.json --budget 18446744073709551615 --resident 1
has 'refused: the sum of bytes cannot be represented, short by 1 B' '  resident     1 B'

# The budget.

# effective BYTES|null OPTION...
effective() {
    wanted=$1
    shift
    admit 0 zero.json --json "$@"
    has "  \"effective_bytes\": $wanted,"
}
effective 40800000000 --device-limit 0=48000000000
effective 8500000000 --device-limit 0=10000000000
effective 8500000000 --device-limit 0=48000000000 --device-limit 1=10000000000
effective 40800000000 --device-limit 0=48000000000 --device-limit 1=10000000000 --device 0
effective 8500000000 --device-limit 0=48000000000 --device-limit 1=10000000000 --device 0 --device 1
effective 1000000 --budget 1000000 --device-limit 0=48000000000
effective 48000000000 --headroom 0 --device-limit 0=48000000000
effective 36000000000 --headroom .25 --device-limit 0=48000000000
effective 5 --device-limit 0=7
effective 1 --device-limit 0=1
effective 1 --headroom .999999 --device-limit 0=5
effective 93 --headroom .07 --device-limit 0=100
effective 20400000000 --budget 50% --device-limit 0=48000000000
effective 48000000000 --budget 48000000000
effective 48000000000 --budget 48000000000 --device-limit 0=0
effective 48000000000 --budget 48000000000 --device-limit 0=1 --device 1
effective null
effective null --device-limit 0=0
effective null --device 3
effective null --budget 50%
effective null --budget none --device-limit 0=48000000000

admit 0 zero.json --device-limit 0=0 --device-limit 1=7 --headroom 0
has '  device 0     no limit is known, no cap' '  device 1     limit 7 B, headroom 0 B' \
    '  headroom     from --headroom=0'

# Budgets by device: the least ceiling of the devices that count is in force.

effective 1000 --budget '0=2000,1=1000'
effective 2000 --budget '0=2000,1=1000' --device 0
effective 2000 --budget '0=2000,*=none' --device 0 --device 5
effective 500 --budget '0=2000,1=50%' --device-limit 0=48000000000 --device-limit 1=1000 --headroom 0
effective 42 --budget '*=42'
effective null --budget '0=none,*=none'
effective null --budget '0=2000,*=none' --device 1
admit 0 zero.json --budget '0=2000,1=none,2=3000' --device-limit 0=1500 --headroom 0
err 'tidemark: --budget=0=2000,1=none,2=3000: 2000 B (1.95 KiB) is capped to 1500 B (1.46 KiB), what headroom leaves of device 0'
has '  device 0     limit 1500 B (1.46 KiB), headroom 0 B, ceiling 1500 B (1.46 KiB)'
admit 3 hundred.json --budget '0=100,1=99'
err ''
has 'refused: over the ceiling, short by 1 B' '  requested    99 B, from --budget=0=100,1=99' \
    '  device 0     no limit is known, no cap, ceiling 100 B' \
    '  device 1     no limit is known, no cap, ceiling 99 B'
admit 2 hundred.json --budget '0=100,0=99'
said 'tidemark: --budget=0=100,0=99: 0=99 names a device for the second time'
runs 2 env TIDEMARK_DEVICE_MEM=1=100 "$tidemark" admit hundred.json
said 'tidemark: TIDEMARK_DEVICE_MEM=1=100: a device below the last one is not named, and there is no *'

# Where a value came from.

runs 3 env TIDEMARK_DEVICE_MEM=16KiB TIDEMARK_HEADROOM=0.2 "$tidemark" admit witness.json
has '  requested    16384 B (16.00 KiB), from TIDEMARK_DEVICE_MEM=16KiB' \
    '  headroom     from TIDEMARK_HEADROOM=0.2'
runs 0 env TIDEMARK_DEVICE_MEM=16KiB "$tidemark" admit witness.json --budget 1G
runs 0 env TIDEMARK_DEVICE_MEM=nonsense "$tidemark" admit witness.json --budget 1G
runs 2 env TIDEMARK_DEVICE_MEM=nonsense "$tidemark" admit witness.json
said 'tidemark: TIDEMARK_DEVICE_MEM=nonsense: must be device, none, a size'
runs 0 env TIDEMARK_REPORT= "$tidemark" admit witness.json --budget 1G

# What cannot change the answer is not read: opening a pipe that nobody writes would block.

mkfifo pipe
admit 0 pipe --budget none --device-limit 0=1G --resident 2G
err ''
out 'admitted: unbudgeted, so no report was read
  requested    no budget, from --budget=none
  headroom     0.15 by default
  device 0     limit 1073741824 B (1.00 GiB), headroom 161061274 B (153.60 MiB)
  effective    unbudgeted
  resident     2147483648 B (2.00 GiB)'
admit 0 absent.json
err ''
has 'admitted: unbudgeted, so no report was read' \
    '  requested    what the device has, and no limit is known, device by default'
for resident in 100 101; do
    admit 3 pipe --budget 100 --resident "$resident"
    has "refused: what is resident leaves nothing under the ceiling, short by at least $((resident - 99)) B, so no report was read" \
        '  requested    100 B, from --budget=100' "  resident     $resident B"
done
admit 0 zero.json --budget 100 --resident 99

# A pool that grows.

admit 3 pipe --growing-pool --device-limit 0=48000000000
has 'refused: a pool that grows in pieces cannot promise the limit that the device reports, so no report was read' \
    '  effective    40800000000 B (38.00 GiB), what headroom leaves of device 0' \
    '  remedy       let the pool take all at its start: no XLA_PYTHON_CLIENT_PREALLOCATE=false' \
    '  remedy       let the pool of the driver serve it: XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async' \
    '  remedy       name a size: TIDEMARK_DEVICE_MEM=SIZE'
admit 0 zero.json --growing-pool --device-limit 0=48000000000 --budget 48000000000
admit 0 zero.json --growing-pool

# The command line.

admit 2
said 'tidemark: admit: no report is named'
admit 2 zero.json --budgte 5
said 'tidemark: --budgte: unknown option; did you mean --budget?'
for value in 1.0 1.5 1 -0.1 nan inf '' abc; do
    admit 2 pipe --headroom "$value"
    said "tidemark: --headroom=$value: must be a decimal fraction of at least 0 and below 1"
done
for value in 0 -1 '' 1.5 101% nan; do
    admit 2 pipe --budget "$value"
    said "tidemark: --budget=$value: must be device, none, a size of at least 1 byte"
done
for value in '' 0 =5 0= 0=x a=5 -1=5 0:5 99999=5; do
    admit 2 pipe --device-limit "$value"
    said "tidemark: --device-limit=$value: must be N=BYTES"
done
admit 2 pipe --device-limit 0=5 --device-limit 0=6
said 'tidemark: --device-limit=0=6: must be '
for value in '' x 0x 99999 -1; do
    admit 2 pipe --device "$value"
    said "tidemark: --device=$value: must be a device's number"
done
for option in --resident --largest-block; do
    admit 2 pipe "$option" many
    said "tidemark: $option=many: must be a size"
done
i=0
set --
while [ "$i" -lt 64 ]; do
    set -- "$@" --device-limit "$i=$((1000 + i))"
    i=$((i + 1))
done
effective 850 "$@"
admit 2 pipe "$@" --device-limit 64=5
said 'tidemark: --device-limit=64=5: must be '
runs 1 sh -c "'$tidemark' admit zero.json --budget 5 >/dev/full"
runs 0 "$tidemark" admit --help
expect_match "$what" '^usage: tidemark admit REPORT' "$(cat out)"

# Before a run: refused with the same text, admitted without a word.

export TIDEMARK_DEVICE_MEM=16KiB
admit 3 witness.json hundred.json
refusal=$(cat out)
runs 3 "$tidemark" run --admit witness.json --admit hundred.json -- touch started
out ''
err "$refusal"
absent started
runs 3 "$tidemark" run --admit hundred.json --device-mem 99 --headroom 0.3 -- touch started
expect_match "$what" '^  requested    99 B, from --device-mem=99$' "$(cat err)"
expect_match "$what" '^  headroom     from --headroom=0.3$' "$(cat err)"
absent started
runs 2 "$tidemark" run --admit malformed.json -- touch started
out ''
absent started
runs 2 "$tidemark" run --admit -- touch started
absent started
runs 0 timeout 20 "$tidemark" run --admit pipe --device-mem none -- true
err ''
runs 7 "$tidemark" run --admit hundred.json -- sh -c 'cat; exit 7' <witness.json
out "$(cat witness.json)"
err ''
# shellcheck disable=SC2016 # for the shell under the command
show='env | sort | sed "s/$$/PID/"; printf "<%s>" "$@"'
runs 0 "$tidemark" run -- sh -c "$show" sh 'two  words' --admit
plain=$(cat out)
runs 0 "$tidemark" run --admit hundred.json -- sh -c "$show" sh 'two  words' --admit
out "$plain"
err ''
unset TIDEMARK_DEVICE_MEM

# Nothing is admitted in silence that could not be checked.
blind='tidemark: --admit: nothing was checked, since no device'"'"'s limit is known and'
runs 0 timeout 20 "$tidemark" run --admit pipe -- echo started
out started
err "$blind TIDEMARK_DEVICE_MEM=device depends on it; give --device-limit N=BYTES, or a size as --device-mem"
runs 0 timeout 20 "$tidemark" run --device-mem 50% --admit pipe -- true
expect_match "$what" "$blind --device-mem=50% depends on it" "$(cat err)"
runs 0 "$tidemark" run --admit hundred.json --device-limit 0=118 -- echo started
out started
err ''
runs 3 "$tidemark" run --admit hundred.json --device-limit 0=117 -- touch started
expect_match "$what" '^  device 0     limit 117 B, headroom 18 B$' "$(cat err)"
absent started
runs 3 "$tidemark" run --admit hundred.json --device-limit 1=118 --device-limit 0=117 -- touch started
absent started
runs 0 "$tidemark" run --admit hundred.json --device-limit 0=118 --device-mem 1000 -- true
err 'tidemark: --device-mem=1000: 1000 B is capped to 100 B, what headroom leaves of device 0'
runs 2 "$tidemark" run --admit hundred.json --device-limit 0 -- touch started
said 'tidemark: --device-limit=0: must be N=BYTES, for each device once'
runs 2 "$tidemark" run --device-limit 0=118 -- touch started
said 'tidemark: --device-limit: has no effect without --admit'
absent started
runs 2 "$tidemark" run --device-mem 0=1GiB,0=2GiB -- touch started
said 'tidemark: --device-mem=0=1GiB,0=2GiB: 0=2GiB names a device for the second time'
absent started

# What the README shows.

# block NAME: what the README has between its marks, less the fence
block() {
    sed -n "/^<!-- $1 -->\$/,/^<!-- \/$1 -->\$/p" "$readme" | sed '1,2d' | sed '$d' | sed '$d'
}
cp v100.json report.json
block admit >shown
sed -n 's/^\$ tidemark //p' shown >commands
expect_lines 'the commands of the README' 2 "$(cat commands)"
while read -r arguments; do
    echo "\$ tidemark $arguments"
    # shellcheck disable=SC2086 # several arguments
    "$tidemark" $arguments 2>&1 </dev/null
done <commands >got
expect_same 'what the README shows' "$(cat shown)" "$(cat got)"

# The object is JSON with all of this in it, and ceilings are exact.

if command -v python3 >/dev/null; then
    block report >snippet.py
    runs 0 python3 - "$tidemark" <<'PYTHON'
import json
import math
import random
import subprocess
import sys
import types
from fractions import Fraction


def admit(*arguments):
    """The exit code and the object, of which no member has a twin."""
    def once(members):
        assert len(dict(members)) == len(members), members
        return dict(members)

    done = subprocess.run([sys.argv[1], "admit", *map(str, arguments), "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.returncode, json.loads(done.stdout, object_pairs_hook=once)


def expect(what, wanted, got):
    if got != wanted:
        sys.exit(f"{what}: wanted {wanted!r}, got {got!r}")


code, answer = admit("object.json", "hundred.json", "--budget", 229, "--resident", 1,
                     "--device-limit", "0=1000", "--device-limit", "7=0",
                     "--headroom", "0.5", "--largest-block", 4)
expect("exit code", 3, code)
version = answer.pop("tidemark")
expect("version", str, type(version))


def counters(peak, argument, output, alias, temp):
    return {"peak_memory_in_bytes": peak, "argument_size_in_bytes": argument,
            "output_size_in_bytes": output, "alias_size_in_bytes": alias,
            "temp_size_in_bytes": temp}


expect("object", {
    "schema": "tidemark.admit/1",
    "admitted": False,
    "verdict": "over the ceiling",
    "budget": {"text": "229", "origin": "option", "name": "--budget"},
    "headroom": {"text": "0.5", "origin": "option", "name": "--headroom"},
    "devices": [{"device": 0, "limit_bytes": 1000, "headroom_bytes": 500},
                {"device": 7, "limit_bytes": None, "headroom_bytes": None}],
    "requested_bytes": 229,
    "effective_bytes": 229,
    "effective_source": "request",
    "reports_read": True,
    "programs": [
        {"report": "object.json", "records": [
            {"device": "cuda:0", "reservation_bytes": 100, **counters(20, 100, 100, 100, 0)},
            {"device": "cuda:1", "reservation_bytes": 130, **counters(10, 20, 20, 0, 90)}]},
        {"report": "hundred.json", "records": [
            {"device": None, "reservation_bytes": 100, **counters(0, 0, 0, 0, 100)}]}],
    "reservation_bytes": 230,
    "reservation_device": "cuda:1",
    "peak_bytes": 20,
    "peak_device": "cuda:0",
    "resident_bytes": 1,
    "total_bytes": 231,
    "short_bytes": 2,
    "largest_request_bytes": 256,
    "largest_block_bytes": 4,
    "contiguity_risk": True,
}, answer)

code, answer = admit("beyond.json", "--budget", "1G")
expect("exit code", 3, code)
for name in "reservation_bytes", "peak_bytes", "total_bytes", "short_bytes":
    expect(name, None, answer[name])
expect("a number beyond doubles", 2**64 - 1,
       answer["programs"][0]["records"][0]["argument_size_in_bytes"])
code, answer = admit("absent.json")
expect("unbudgeted", (0, True, False, "default", None),
       (code, answer["admitted"], answer["reports_read"], answer["budget"]["origin"],
        answer["budget"]["name"]))

path = 'a "quoted"\n\u00e9.json'
with open("zero.json") as zero, open(path, "w") as copy:
    copy.write(zero.read())
code, answer = admit(path, "--budget", 5)
expect("path", path.encode("utf-8"), answer["programs"][0]["report"].encode("latin-1"))

class Program:
    """Stands in for jax and for what jax compiles."""
    counters = {**counters(90, 56, 2, 0, 131072), "host_argument_size_in_bytes": 0,
                "host_output_size_in_bytes": 0, "host_alias_size_in_bytes": 0,
                "host_temp_size_in_bytes": 0, "generated_code_size_in_bytes": 5}

    def jit(self, *arguments):
        return self

    lower = compile = jit

    def memory_analysis(self):
        return types.SimpleNamespace(**self.counters)


with open("snippet.py") as snippet:
    exec(snippet.read(), {"jax": Program(), "step": None, "arguments": []})
with open("report.json") as report:
    expect("what the snippet writes", Program.counters, json.load(report))
expect("exit code", 0, admit("report.json", "--budget", 131130)[0])

random.seed(1)
for _ in range(150):
    limit = random.randrange(1, 2**random.randrange(1, 65))
    decimals = "".join(random.choice("0123456789") for _ in range(random.randrange(1, 19)))
    headroom = math.ceil(Fraction("0." + decimals) * limit)
    code, answer = admit("zero.json", "--headroom", "0." + decimals,
                         "--device-limit", f"0={limit}")
    expect(f"headroom 0.{decimals} of {limit}", (0, headroom, max(1, limit - headroom)),
           (code, answer["devices"][0]["headroom_bytes"], answer["effective_bytes"]))
PYTHON
    out ''
    err ''
else
    echo 'skip the JSON object, the snippet and exact ceilings: python3 is not installed'
fi

expect_end
