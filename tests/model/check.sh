#!/bin/sh
# Runs the models with spin: each must hold as it is, and each mutation of it must be caught by
# the assertion named here. One line a run. Usage: check.sh
set -u
models=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || {
    echo "skipped: spin is not installed"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# run MODEL [-DNAME...]: leaves what pan said in ./said.
run() {
    model=$1
    shift
    spin -a "$@" "$models/$model.pml" >said 2>&1 &&
        ${CC:-cc} -O2 -w -DSAFETY -o pan pan.c >>said 2>&1 && ./pan -m100000 >said 2>&1
    violated=$(sed -n 's/^pan:1: assertion violated \(.*\) (at depth.*/\1/p' said)
}

# holds MODEL [-DNAME...]: every reachable state was seen, and none was wrong.
holds() {
    run "$@"
    if grep -q 'errors: 0$' said && ! grep -qE 'max search depth too small|not completed' said; then
        echo "$*: holds in $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' said) states"
        return
    fi
    echo "FAILED: $*: ${violated:-$(tail -n 3 said)}"
    failures=$((failures + 1))
}

# caught MODEL MUTATION ASSERTION
caught() {
    run "$1" "-D$2"
    case $violated in
    *"$3"*)
        echo "$1 $2: caught, $violated"
        return
        ;;
    esac
    echo "FAILED: $1 $2: not caught by $3: ${violated:-$(tail -n 3 said)}"
    failures=$((failures + 1))
}

holds bins -DWORKERS=2 -DOPERATIONS=4
holds bins -DWORKERS=3 -DOPERATIONS=2
caught bins NO_TAG 'owner[block]==0'
caught bins POP_BLIND 'owner[block]==0'
caught bins PUSH_LINKS_LATE 'owner[block]==0'
caught bins DRAIN_READS_LATE 'listed[block]'
caught bins DRAIN_MOVES_TAG_ONCE 'head.tag=='

[ "$failures" -eq 0 ]
