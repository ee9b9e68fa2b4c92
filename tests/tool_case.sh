# Sourced by the tests of the command: a scratch folder to be in, with a copy of the command and
# of the library that stands in for the real one, and what a case says of a run:
#
#   runs CODE COMMAND...   it exits with CODE; stdout goes to ./out, stderr to ./err
#   out TEXT, err TEXT     the whole of it, less the last newline
#   err_like PATTERN       stderr is one line, which matches
#   absent FILE            what the program would have made is not there: it never started
# shellcheck shell=sh disable=SC2034 # the names are for the test
set -u
folder=$(realpath "$1")
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
scratch=$(realpath "$expect_work")
tidemark=$scratch/tidemark
library=$scratch/libtidemark.so
for name in $(env | sed -n 's/^\(TIDEMARK[A-Z_]*\)=.*/\1/p') LD_PRELOAD LD_LIBRARY_PATH; do
    unset "$name"
done
cd "$scratch" || exit 1
cp "$folder/tidemark" "$folder/libtidemark.so" . || exit 1

runs() {
    code=$1
    shift
    what=$*
    "$@" >out 2>err
    expect_same "$what: exit code" "$code" $?
}

out() {
    expect_same "$what: standard output" "$1" "$(cat out)"
}

err() {
    expect_same "$what: standard error" "$1" "$(cat err)"
}

err_like() {
    expect_lines "$what: standard error" 1 "$(cat err)"
    expect_match "$what: standard error" "$1" "$(cat err)"
}

absent() {
    [ ! -e "$1" ]
    expect_same "$what: $1 is absent" 0 $?
    rm -f "$1"
}
