#!/bin/sh
# Runs models with spin: each must hold as it is, and each mutation of it must be caught by what
# is named here. One line a run. Usage: check.sh bins|spans|fork|rows...
# What does not fit a few seconds and a GB is run where CHECK_ALL is set.
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
# Where threads end or stop because of others, spin's partial order reduction does not see it.
reduction=

# run OPTIMISATION MODEL [-DNAME...]: leaves what pan said in ./said.
run() {
    optimisation=$1 model=$2
    shift 2
    # shellcheck disable=SC2086 # an option or none
    spin -a "$@" "$models/$model.pml" >said 2>&1 &&
        ${CC:-cc} "$optimisation" -w -DSAFETY $reduction -o pan pan.c >>said 2>&1 &&
        ./pan -m4000000 >said 2>&1
    violated=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' said)
}

# holds MODEL [-DNAME...]: every reachable state was seen, and none was wrong.
holds() {
    run -O2 "$@"
    if grep -q 'errors: 0$' said && ! grep -qE 'max search depth too small|not completed' said; then
        echo "$*: holds in $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' said) states"
        return
    fi
    echo "FAILED: $*: ${violated:-$(tail -n 3 said)}"
    failures=$((failures + 1))
}

# holds_at_large MODEL [-DNAME...]
holds_at_large() {
    if [ "${CHECK_ALL:-}" ]; then
        holds "$@"
    else
        echo "skip model $*: it takes 2 GB (CHECK_ALL runs it)"
    fi
}

# caught MODEL MUTATION WHAT_IT_VIOLATES [-DNAME...]
caught() {
    model=$1 mutation=$2 expected=$3
    shift 3
    run -O0 "$model" "-D$mutation" "$@"
    case $violated in
    *"$expected"*)
        echo "$model $mutation: caught, $violated"
        return
        ;;
    esac
    echo "FAILED: $model $mutation: not caught by $expected: ${violated:-$(tail -n 3 said)}"
    failures=$((failures + 1))
}

check_bins() {
    holds bins -DWORKERS=2 -DOPERATIONS=4
    holds bins -DWORKERS=3 -DOPERATIONS=2
    caught bins NO_TAG 'owner[block]==0'
    caught bins POP_BLIND 'owner[block]==0'
    caught bins PUSH_LINKS_LATE 'owner[block]==0'
    caught bins DRAIN_READS_LATE 'listed[block]'
    caught bins DRAIN_MOVES_TAG_ONCE 'head.tag=='
}

# Not fresh: memory that was said to read as zero does not.
stale='!(fresh)||(data['

check_spans() {
    holds spans -DWORKERS=2 -DGRANULES=3
    holds spans -DWORKERS=3 -DGRANULES=2
    holds_at_large spans -DWORKERS=2 -DGRANULES=4
    caught spans CLAIM_NEEDS_NO_LOCK 'owner[g]==0'
    caught spans CLAIM_TRUSTS_ITS_LOOK 'length[block]>=3'
    caught spans RETURN_IS_IDLE_LATE 'state['
    caught spans RETURN_DROPS_THE_LAST 'owner[at]!=0'
    caught spans TAKE_LEAVES_MARKS 'lists>>from'
    caught spans MERGE_MIXES "$stale"
    caught spans SPLIT_FORGETS_REST 'length[at]>0'
    caught spans SPLIT_REST_IS_CLEAN "$stale"
    caught spans SPLIT_LAST_IS_FRESH "$stale"
    caught spans EXTEND_TAKES_WHAT_WAS_REFUSED "$stale"
    caught spans TRIM_LEAVES_IN_BINS 'owner[g]==0'
    caught spans TRIM_CLEANS_THE_WHOLE "$stale"
    caught spans TRIM_TRUSTS_THE_SOURCE "$stale"
    caught spans TRIM_KEEPS_ITS_PLACE 'length[index]>0'
}

# A fork wipes what somebody owns.
wiped='(owner[g]==0)||(owner[g]==15)'
inside='lock_life==life[me]'

check_fork() {
    reduction=-DNOREDUCE
    holds fork -DCHILDREN=1 -DGRANULES=2
    holds fork -DCHILDREN=2 -DGRANULES=1
    holds fork -DCHILDREN=1 -DGRANULES=1 -DSIGNAL
    holds_at_large fork -DCHILDREN=2 -DGRANULES=2
    caught fork FORK_MARKS_IN_BINS "$wiped"
    caught fork MARK_STAYS "$wiped"
    caught fork MARK_THAT_STAYS_IS_FREE "$wiped"
    caught fork FORK_GIVES_THE_LOCK_EARLY "$inside"
    caught fork FORK_GIVES_WHAT_IT_HAS_NOT "$inside"
    caught fork FORK_IS_KNOWN_BY_THREAD "$inside"
    caught fork FORK_IS_KNOWN_BY_THREAD "$inside" -DGRANULES=1 -DONE_LIFE -DSIGNAL
    caught fork CHILD_TRUSTS_ITS_MARKS "$stale"
    caught fork CHILD_KEEPS_THE_LOCK 'lock==0'
    caught fork CLAIM_IS_LIVE_LATE 'state[at]!=0'
    caught fork LOCK_IS_WAITED_FOR 'invalid end state'
}

check_rows() {
    reduction=-DNOREDUCE
    holds rows -DCHILDREN=1 -DSTRIDES=2
    holds_at_large rows -DCHILDREN=2 -DSTRIDES=2
    caught rows BIRTH_NEEDS_NO_LOCK 'owner[g]==0'
    caught rows MARK_STAYS "$wiped"
    caught rows MARK_THAT_STAYS_IS_FREE "$wiped"
    caught rows PARENT_TRUSTS_ITS_MARKS "$stale"
    caught rows CHILD_TRUSTS_ITS_MARKS "$stale"
    caught rows FORK_IS_KNOWN_BY_THREAD "$inside"
    caught rows LOCK_IS_WAITED_FOR 'invalid end state'
}

[ $# -gt 0 ] || {
    echo "usage: check.sh bins|spans|fork|rows..." >&2
    exit 2
}
for name; do
    reduction=
    "check_$name"
done

[ "$failures" -eq 0 ]
