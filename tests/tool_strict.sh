#!/bin/sh
# `tidemark run --strict` runs no program that the preload does not reach: what can be told from
# the file is told before anything starts, and the library has to answer. Without --strict the
# same is a warning. Usage: tool_strict.sh FOLDER, where the command, its stand-in library,
# tool_static and tool_musl lie.
# shellcheck source=tests/tool_case.sh
. "$(dirname "$0")/tool_case.sh"
cp "$folder/tool_static" "$folder/tool_musl" . || exit 1

# The library answers.

runs 0 "$tidemark" run --strict -- true
err ''
runs 7 "$tidemark" run --strict -- sh -c 'exit 7'
runs 0 "$tidemark" run --strict -- env true
runs 0 "$tidemark" run --strict -- "$(realpath /lib64/ld-linux-x86-64.so.2)" /bin/true
err ''
runs 0 sh -c "ulimit -n 64; exec '$tidemark' run --strict -- true"
runs 0 "$tidemark" run --strict --device-mem 1G -- printenv TIDEMARK_RUN
expect_match "$what" '^[0-9]+;from=TIDEMARK_DEVICE_MEM;ack=[0-9]+$' "$(cat out)"
runs 127 "$tidemark" run --strict -- no-such-program
err 'tidemark: no-such-program: No such file or directory'

# The library does not.

runs 126 env STANDIN=silent "$tidemark" run --strict -- true
err 'tidemark: true: the preload had no effect'
before=$(date +%s)
runs 126 env STANDIN=close "$tidemark" run --strict -- sleep 100
err 'tidemark: sleep: the preload had no effect'
expect_match "$what: seconds" '^[0-5]$' "$(($(date +%s) - before))"
before=$(date +%s)
# shellcheck disable=SC2016 # for the shell under the command
runs 126 env STANDIN=silent "$tidemark" run --strict -- \
    sh -c 'trap "echo asked to end" TERM; while :; do sleep 0.1; done'
out 'asked to end'
expect_match "$what: seconds" '^(1[1-9]|2[0-9])$' "$(($(date +%s) - before))"

# The file tells.

# refused PROGRAM REASON
refused() {
    runs 126 "$tidemark" run --strict -- "$1"
    out ''
    err "tidemark: $1 $2: the preload has no effect"
}

refused ./tool_static 'is statically linked'
runs 0 "$tidemark" run -- ./tool_static
out static
err 'tidemark: ./tool_static is statically linked: the preload has no effect'
runs 126 env PATH="/nowhere::$PATH" "$tidemark" run --strict -- tool_static
err 'tidemark: tool_static is statically linked: the preload has no effect'

printf '#!%s\n' "$scratch/tool_static" >script
printf '#! %s with an argument\n' "$scratch/script" >outer
chmod +x script outer
refused ./script "is run by $scratch/tool_static, which is statically linked"
refused ./outer "is run by $scratch/tool_static, which is statically linked"
printf '#!/usr/bin/env sh\nexit 5\n' >script
runs 5 "$tidemark" run --strict -- ./script
err ''

refused ./tool_musl 'is loaded by musl, not by glibc'

# byte FILE OFFSET VALUE: changes one byte
byte() {
    # shellcheck disable=SC2059 # the value is an escape of printf
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>dd.log || exit 1
}
class=4
machine=18
cp tool_static narrow
byte narrow "$class" '\001'
refused ./narrow 'is not a 64-bit x86 program'
cp tool_static foreign
byte foreign "$machine" '\267'
refused ./foreign 'is not a 64-bit x86 program'

# Whoever gains rights by being executed loses the preload.

if [ "$(id -u)" -eq 0 ]; then
    cp /bin/true setuid
    chown 65534 setuid
    chmod 4755 setuid
    refused ./setuid 'runs as another user'
    cp /bin/true setgid
    chgrp 65534 setgid
    chmod 2755 setgid
    refused ./setgid 'runs as another group'
    cp /bin/true own
    chmod 6755 own
    runs 0 "$tidemark" run --strict -- ./own
    cp /bin/true capable
    chmod 755 . capable tidemark libtidemark.so
    if setcap cap_net_raw+ep capable; then
        runs 126 setpriv --reuid 65534 --regid 65534 --clear-groups \
            "$tidemark" run --strict -- ./capable
        err 'tidemark: ./capable has file capabilities: the preload has no effect'
    fi
elif [ -u /usr/bin/su ]; then
    refused /usr/bin/su 'runs as another user'
fi

expect_end
