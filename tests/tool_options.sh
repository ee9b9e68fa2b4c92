#!/bin/sh
# What the command says of itself: help on standard output, complaints on standard error, and
# `tidemark options` exactly as the rows of policy/options.def have it.
# Usage: tool_options.sh FOLDER VERSION OPTIONS_DEF README.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"
version=$2
rows=$3
readme=$4

# Help.

runs 2 "$tidemark"
out ''
expect_match "$what" '^usage: tidemark VERB' "$(cat err)"
runs 0 "$tidemark" --version
out "tidemark $version"

# helps TEXT... : the last help has each
helps() {
    err ''
    for text in "$@"; do
        expect_match "$what" "$text" "$(cat out)"
    done
}
runs 0 "$tidemark" --help
helps 'tidemark run -- ' 'tidemark run --device-mem ' '  run ' '  options ' \
    '  0 ' '  1 ' '  2 ' '  3 ' '  126 ' '  127 ' --version
runs 0 "$tidemark" run --help
helps --device-mem --headroom --report --report-format --strict --sim
runs 0 "$tidemark" options --help
helps --markdown

runs 2 "$tidemark" optoins
err 'tidemark: optoins: unknown verb; did you mean options?'
runs 2 "$tidemark" frobnicate
err "tidemark: frobnicate: unknown verb; \`tidemark --help\` lists them"
runs 2 "$tidemark" --hepl
err 'tidemark: --hepl: unknown option; did you mean --help?'
runs 2 "$tidemark" options --markdwon
err 'tidemark: --markdwon: unknown option; did you mean --markdown?'
runs 2 "$tidemark" options device-mem
err 'tidemark: options: device-mem: no argument is expected'
runs 1 sh -c "'$tidemark' options >/dev/full"
err 'tidemark: standard output: No space left on device'

# The tables. A row of options.def is two lines: five texts on the first, help on the second.

awk -F'"' '/^OPTION/ { environment = $4; flag = $6; argument = $8; initial = $2; next }
    environment != "" {
        gsub(/\|/, "\\|", argument)
        printf "| `%s` | %s | `%s` | `%s`: %s |\n", environment,
            flag == "" ? "" : "`--" flag "`", initial, argument, $2
        environment = ""
    }' "$rows" >expected
expect_lines "$rows" "$(grep -c '^OPTION' "$rows")" "$(cat expected)"
runs 0 "$tidemark" options --markdown
out "| environment | run option | default | meaning |
|---|---|---|---|
$(cat expected)"
expect_same 'the table of the README' "$(cat out)" \
    "$(sed -n '/^<!-- options -->$/,/^<!-- \/options -->$/p' "$readme" | sed '1d;$d')"

# The table with values, less its padding.
awk -F'"' '/^OPTION/ { environment = $4; flag = $6; argument = $8; initial = $2; next }
    environment != "" {
        print environment, flag == "" ? "-" : "--" flag, argument, initial, initial,
            "default", $2
        environment = ""
    }' "$rows" >expected
runs 0 "$tidemark" options
err ''
tr -s ' ' <out | sed 1d >squeezed
expect_same "$what" "$(cat expected)" "$(cat squeezed)"

# line PATTERN: the last table has a line that matches
line() {
    expect_match "$what" "$1" "$(cat out)"
}
runs 0 env TIDEMARK_DEVICE_MEM=2GiB "$tidemark" options
line '^TIDEMARK_DEVICE_MEM .* device +2GiB +environment '
line '^TIDEMARK_HEADROOM .* 0.15 +0.15 +default '
runs 0 env TIDEMARK_HEADROOM=0.5 "$tidemark" run --device-mem 3GiB -- "$tidemark" options
line '^TIDEMARK_DEVICE_MEM .* device +3GiB +run '
line '^TIDEMARK_HEADROOM .* 0.15 +0.5 +environment '
runs 2 env TIDEMARK_HEADROOM=1 "$tidemark" options
line '^TIDEMARK_HEADROOM .* 0.15 +1 +malformed '
err 'tidemark: TIDEMARK_HEADROOM=1: must be a decimal fraction of at least 0 and below 1'
runs 0 env TIDEMARK_VERBOS=1 "$tidemark" options
err 'tidemark: TIDEMARK_VERBOS is not an option; did you mean TIDEMARK_VERBOSE?'

expect_end
