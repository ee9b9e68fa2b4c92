#!/bin/sh
# `tidemark run`: the exit code is the program's own, what is malformed stops everything before
# it starts, and the program finds its arguments untouched and exactly the environment meant
# for it. Usage: tool_run.sh FOLDER, where the command and its stand-in library lie.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"

# Exit codes.

i=0
while [ "$i" -le 255 ]; do
    runs "$i" "$tidemark" run -- sh -c "exit $i"
    i=$((i + 1))
done
out ''
err ''

runs 127 "$tidemark" run -- no-such-program
err 'tidemark: no-such-program: No such file or directory'
runs 127 "$tidemark" run -- ./no-such-program
runs 127 "$tidemark" run -- ''
: >plain
runs 126 "$tidemark" run -- ./plain
err 'tidemark: ./plain: Permission denied'
runs 126 "$tidemark" run -- /
runs 143 "$tidemark" run -- sh -c "kill -TERM \$\$"

# The command line.

runs 2 "$tidemark" run
err_like '^tidemark: run: no program is named'
runs 2 "$tidemark" run --
runs 2 "$tidemark" run --device-men 1G -- touch started
err 'tidemark: --device-men: unknown option; did you mean --device-mem?'
runs 2 "$tidemark" run --xyzzy -- touch started
err 'tidemark: --xyzzy: unknown option'
runs 2 "$tidemark" run -x -- touch started
err 'tidemark: -x: unknown option'
runs 2 "$tidemark" run --strict=yes -- touch started
err 'tidemark: --strict=yes: this option takes no value'
runs 2 "$tidemark" run --headroom
err 'tidemark: --headroom: a value is missing'

# Malformed values.

ceiling='device, none, a size of at least 1 byte, or a percentage above 0 and at most 100, or a list of these by device as in 0=8GiB,1=50%,*=none'
fraction='a decimal fraction of at least 0 and below 1'
malformed() {
    runs 2 "$@" touch started
    absent started
}
for value in 100x -1 '' 0 101% 1e9 'none ' 99999999999999999999; do
    malformed "$tidemark" run --device-mem "$value" --
    err "tidemark: --device-mem=$value: must be $ceiling"
    malformed env TIDEMARK_DEVICE_MEM="$value" "$tidemark" run --
    err "tidemark: TIDEMARK_DEVICE_MEM=$value: must be $ceiling"
done
for value in 1 -0.1 1.5 '' x; do
    malformed "$tidemark" run --headroom="$value" --
    err "tidemark: --headroom=$value: must be $fraction"
    malformed env TIDEMARK_HEADROOM="$value" "$tidemark" run --
    err "tidemark: TIDEMARK_HEADROOM=$value: must be $fraction"
done
malformed "$tidemark" run --report '' --
err_like '^tidemark: --report=: must be '
malformed "$tidemark" run --report-format xml --
err_like '^tidemark: --report-format=xml: must be '
malformed env TIDEMARK=maybe "$tidemark" run --
err_like '^tidemark: TIDEMARK=maybe: must be '
malformed env TIDEMARK_STAGING_MIN=lots "$tidemark" run --
err_like '^tidemark: TIDEMARK_STAGING_MIN=lots: must be '

# An option replaces the value of the environment, a malformed one as well.
runs 0 env TIDEMARK_HEADROOM=1 "$tidemark" run --headroom 0.5 -- printenv TIDEMARK_HEADROOM
out 0.5
err ''

# A name that no option has is only pointed out.
runs 0 env TIDEMARK_HEADROM=1 "$tidemark" run -- true
err 'tidemark: TIDEMARK_HEADROM is not an option; did you mean TIDEMARK_HEADROOM?'
runs 0 env TIDEMARK_SOMETHING_ELSE=1 "$tidemark" run -- true
err 'tidemark: TIDEMARK_SOMETHING_ELSE is not an option'

# The environment of the program.

# shellcheck disable=SC2016 # for the shell under the command
show='echo "$LD_PRELOAD"; env | grep ^TIDEMARK | sort | sed "s/$$/PID/"'
runs 0 "$tidemark" run -- sh -c "$show"
out "$library
TIDEMARK_RUN=PID"
runs 0 "$tidemark" run --device-mem 1GiB --headroom 0.2 --report stderr \
    --report-format json -- sh -c "$show"
out "$library
TIDEMARK_DEVICE_MEM=1GiB
TIDEMARK_HEADROOM=0.2
TIDEMARK_REPORT=stderr
TIDEMARK_REPORT_FORMAT=json
TIDEMARK_RUN=PID;from=TIDEMARK_DEVICE_MEM,TIDEMARK_HEADROOM,TIDEMARK_REPORT,TIDEMARK_REPORT_FORMAT"
runs 0 env TIDEMARK_RUN='1;from=TIDEMARK;ack=7' TIDEMARK_VERBOSE=off \
    "$tidemark" run -- sh -c "$show"
out "$library
TIDEMARK_RUN=PID
TIDEMARK_VERBOSE=off"

runs 0 "$tidemark" run --report some/report -- printenv TIDEMARK_REPORT
out "$scratch/some/report"
runs 0 "$tidemark" run --report /some/report -- printenv TIDEMARK_REPORT
out /some/report
runs 0 "$tidemark" run --report none -- printenv TIDEMARK_REPORT
out none

runs 0 env LANG=C HOME=/nowhere "$tidemark" run -- sh -c "env | grep -E '^(LANG|HOME)=' | sort"
out 'HOME=/nowhere
LANG=C'

# The preload.

other=$scratch/other.so
another=$scratch/another.so
cp "$library" other.so
cp "$library" another.so
ln -s libtidemark.so same.so
preloads() {
    runs 0 env LD_PRELOAD="$1" "$tidemark" run -- printenv LD_PRELOAD
    out "$2"
    err ''
}
preloads '' "$library"
preloads "$other" "$library:$other"
preloads "$other $another" "$library:$other:$another"
preloads "$other:$library:$another" "$library:$other:$another"
preloads "$library" "$library"
preloads " $library: $library" "$library"
preloads "$scratch/same.so $other" "$library:$other"

# The library is found beside the command or in the lib folder of its prefix, from anywhere.
for place in bin lib lib/x86_64-linux-gnu; do
    rm -rf prefix
    mkdir -p prefix/bin "prefix/$place"
    cp tidemark prefix/bin
    cp libtidemark.so "prefix/$place/libtidemark.so.0"
    ln -s libtidemark.so.0 "prefix/$place/libtidemark.so"
    ln -sf prefix/bin/tidemark linked
    runs 0 env -C / "$scratch/linked" run -- printenv LD_PRELOAD
    out "$scratch/prefix/$place/libtidemark.so.0"
done
rm -rf prefix/lib
runs 126 ./linked run -- touch started
err_like "^tidemark: libtidemark.so: not in $scratch/prefix/bin"
for folder_name in 'a space' a:colon; do
    mkdir "$folder_name"
    cp tidemark libtidemark.so "$folder_name"
    runs 126 "./$folder_name/tidemark" run -- touch started
    err "tidemark: $scratch/$folder_name/libtidemark.so: LD_PRELOAD cannot name a path with a space or a colon"
done
absent started

# The simulated driver.

if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    runs 0 env LD_LIBRARY_PATH=/some "$tidemark" run --sim -- printenv LD_LIBRARY_PATH
    out /some
    err 'tidemark: --sim: there is a GPU here, so its own driver is used'
else
    runs 2 "$tidemark" run --sim -- touch started
    err "tidemark: --sim: no simulated driver: $scratch/simcuda: No such file or directory"
    absent started
    mkdir simcuda
    runs 0 "$tidemark" run --sim -- printenv LD_LIBRARY_PATH
    out "$scratch/simcuda"
    runs 0 env LD_LIBRARY_PATH=/some:/more "$tidemark" run --sim -- printenv LD_LIBRARY_PATH
    out "$scratch/simcuda:/some:/more"
    err ''
fi
runs 0 env LD_LIBRARY_PATH=/some "$tidemark" run -- printenv LD_LIBRARY_PATH
out /some

# Arguments and descriptors.

# shellcheck disable=SC2016 # the dollar is part of the argument
set -- 'two  words' '' "it's" '"' '$HOME' '*' "\\" -- --device-mem --strict -x 'last
line'
runs 0 printf '<%s>\n' "$@"
plain=$(cat out)
runs 0 "$tidemark" run -- printf '<%s>\n' "$@"
out "$plain"
runs 0 "$tidemark" run --headroom 0.1 printf '<%s>\n' "$@"
out "$plain"

for closed in '' '<&-' '2>&-' '<&- 2>&-'; do
    runs 0 sh -c "exec ls /proc/self/fd $closed"
    plain=$(cat out)
    runs 0 sh -c "exec '$tidemark' run -- ls /proc/self/fd $closed"
    out "$plain"
    runs 0 sh -c "exec '$tidemark' run --strict -- ls /proc/self/fd $closed"
    out "$plain"
done

expect_end
