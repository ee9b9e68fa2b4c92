#!/bin/bash
# Every limit of the kernel that retained memory can meet: a program under it does what it does
# without us, what is idle goes back in a way that the limit counts, and the settings that govern
# how much is kept do what the README says. What changes the whole machine for a moment, and what
# needs more than this machine has, is skipped, aloud. Usage: preload_limits.sh BUILD_FOLDER
set -eu
build=$1
sources=$(cd "$(dirname "$0")/preload" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$expect_work"
library=$build/libtidemark.so
${CC:-cc} -O1 -fno-builtin "$sources/steps.c" "$sources/steps_kernel.c" -o steps -pthread

# What has to be put back, whatever happens.
overcommit='' group='' swap=''
put_back() {
    [ -z "$overcommit" ] || echo "$overcommit" >/proc/sys/vm/overcommit_memory
    [ -z "$group" ] || rmdir "$group"
    [ -z "$swap" ] || swapoff "$swap"
    rm -rf "$expect_work"
}
trap put_back EXIT
trap 'exit 1' HUP INT TERM

# preloaded [NAME=VALUE...] COMMAND...: leaves a report behind.
preloaded() {
    env LD_PRELOAD="$library" TIDEMARK_REPORT="$expect_work/report" "$@"
}

# outcome COMMAND...: what it says, on one line, with its status.
outcome() {
    status=0
    text=$("$@" 2>&1 </dev/null) || status=$?
    # shellcheck disable=SC2086
    echo $text "[$status]"
}

# figure NAME: a number of the last report. retention: its line.
figure() {
    awk -v name="$1" '$1 == name { print $2; exit }' report
}
retention() {
    sed -n 's/^retention *//p' report
}

# value NAME N TEXT: what the N-th NAME= of an outcome is.
value() {
    echo "$3" | grep -oE "\<$1=-?[0-9]+" | sed -n "$2s/.*=//p"
}

# at_most WHAT LIMIT GOT, at_least WHAT LIMIT GOT
at_most() {
    expect_same "$1" "at most $2" "$([ "$3" -le "$2" ] && echo "at most $2" || echo "$3")"
}
at_least() {
    expect_same "$1" "at least $2" "$([ "$3" -ge "$2" ] && echo "at least $2" || echo "$3")"
}

# same WHAT OUTCOME COMMAND...: a plain run comes to that, and so does a preloaded one.
same() {
    what=$1
    wanted=$2
    shift 2
    expect_same "$what, plain" "$wanted" "$(outcome "$@")"
    expect_same "$what" "$wanted" "$(outcome preloaded "$@")"
}

# privileged WHAT: for tests that change a setting of the whole machine.
privileged() {
    if [ "${CHECK_ALL:-}" != 1 ]; then
        echo "skip $1: it changes the whole machine; CHECK_ALL=1 allows it"
    elif [ "$(id -u)" != 0 ]; then
        echo "skip $1: only root can set it up"
    else
        return 0
    fi
    return 1
}

MIB=1048576

# ---- Address space and data, limited before the start: nothing is retained.

for kib in 200000 1000000 8000000; do
    same "address space of $kib KiB" "claimed=40 claimed=1 claimed=40 zeroed=1 zero=1 [0]" \
        sh -c "ulimit -v $kib; exec ./steps claim 40 1M free claim 1 50M free claim 40 1M free zeroed 1 50M"
    expect_same "and says so" "off: the address space is limited (RLIMIT_AS)" "$(retention)"
done
# What was freed is there for others at once, and for the next request.
freely="claim 1 200M free map 200M claim 100 2M free claim 1 200M free zeroed 1 200M free align 200M claim 90 100K grow 150M"
freed="claimed=1 mapped=1 claimed=100 claimed=1 zeroed=1 zero=1 aligned=1 claimed=90 grown=1 [0]"
same "data limited before the start" "$freed" sh -c "ulimit -d 330000; exec ./steps $freely"
expect_same "and says so" "off: data is limited (RLIMIT_DATA)" "$(retention)"
same "address space limited before the start" "$freed" sh -c "ulimit -v 450000; exec ./steps $freely"

# Without a limit's name: mappings of so many bytes are refused.
expect_same "no room for the areas" "crowded=1 claimed=40 claimed=1 [0]" \
    "$(outcome ./steps crowd 8G exec env LD_PRELOAD="$library" TIDEMARK_REPORT="$PWD/report" \
        ./steps claim 40 1M free claim 1 50M)"
expect_same "is said" "off: the kernel gives no address space" "$(retention)"
expect_same "room for smaller areas" "crowded=1 claimed=40 claimed=1 [0]" \
    "$(outcome ./steps crowd 32G exec env LD_PRELOAD="$library" TIDEMARK_REPORT="$PWD/report" \
        ./steps claim 40 1M free claim 1 50M free)"
expect_same "is enough" "on" "$(retention)"

# ---- Limited by the program itself: what is idle goes back, all of it.

for name in data as; do
    size=300M
    [ $name = as ] && size=420M
    same "$name limited while 250 MB are idle" \
        "claimed=2 claimed=10 claimed=50 claimed=1 limited=1 mapped=1 thread=1 claimed=1 mapped=1 claimed=50 claimed=1 claimed=0 intact=1 child=0 intact=1 [0]" \
        ./steps claim 2 1M keep claim 10 1M claim 50 2M claim 1 150M free limit $name $size map 200M thread \
        claim 1 200M free map 200M claim 50 2M free claim 1 200M free claim 1 500M fork intact joined intact
    expect_same "$name: all of it is given back" "$((260 * MIB)) 0" \
        "$(figure returned_bytes) $(figure idle_bytes)"
    same "$name limited while 100 MB are live, which go back when they are freed" \
        "claimed=20 claimed=1 limited=1 mapped=1 claimed=1 [0]" \
        ./steps claim 20 2M claim 1 60M limit $name $size free map 250M claim 1 250M
    # A limit set by another process, or past the C library, is not seen: until memory is refused.
    same "$name limited unseen" \
        "claimed=2 claimed=50 claimed=1 limited=1 claimed=1 zeroed=1 zero=1 claimed=50 aligned=1 claimed=90 grown=1 [0]" \
        ./steps claim 2 1M keep claim 50 2M claim 1 150M free limit-unseen $name $size \
        claim 1 200M free zeroed 1 200M free claim 50 2M free align 200M claim 90 100K grow 150M
done
expect_same "limited where nothing is retained" "limited=1 claimed=1 mapped=1 [0]" \
    "$(outcome preloaded TIDEMARK_RETAIN=0 ./steps limit data 300M claim 1 200M free map 200M)"
expect_match "the report says why" '^off: the program limited' \
    "$(preloaded ./steps limit as 400M >/dev/null; retention)"
expect_same "a child of vfork limits itself alone" "claimed=20 vforked=1 vforked=1 claimed=20 [0] on" \
    "$(outcome preloaded ./steps claim 20 2M free limit-child as 300M limit-child data 100M claim 20 2M) $(retention)"

# ---- Memory committed strictly.

if privileged "vm.overcommit_memory=2"; then
    overcommit=$(cat /proc/sys/vm/overcommit_memory)
    [ "$overcommit" = 2 ] || echo 2 >/proc/sys/vm/overcommit_memory
    # Blocks of 40 % of what can be committed, and then one of 80 %.
    kib=$(awk '/^CommitLimit/ { limit = $2 } /^Committed_AS/ { used = $2 } END { print limit - used }' /proc/meminfo)
    same "strict overcommit" "reserved=1000 reserved=1 reserved=1000 claimed=10 [0]" \
        ./steps reserve 1000 $((kib / 2500))K free reserve 1 $((kib * 4 / 5))K free \
        reserve 1000 $((kib / 2500))K free claim 10 2M
    echo "$overcommit" >/proc/sys/vm/overcommit_memory
    overcommit=''
    expect_same "and says so" "off: memory is committed strictly (vm.overcommit_memory=2)" "$(retention)"
fi

# ---- As many mappings as there may be.

for room in 1 64; do
    same "$room mappings left" \
        "claimed=40 claimed=1 claimed=40 claimed=1 shattered=1 claimed=50 claimed=10 zeroed=2 zero=1 claimed=30 claimed=1 grown=1 intact=1 claimed=40 zeroed=1 zero=1 child=0 intact=1 child=0 claimed=60 grown=1 intact=1 [0]" \
        ./steps claim 40 1M claim 1 50M keep claim 40 1M claim 1 40M free shatter $room \
        claim 50 1M claim 10 3M zeroed 2 8M claim 30 100K claim 1 60M grow 80M free trim \
        fork intact claim 40 1M zeroed 1 40M free joined fork intact joined claim 60 1M grow 30M intact
done
expect_match "no mapping left" ' claimed=[1-9][0-9]* .*intact=1.* child=0 .*intact=1 \[0\]$' \
    "$(outcome preloaded ./steps claim 40 1M claim 1 50M keep claim 40 1M claim 1 40M free shatter 0 \
        claim 50 1M zeroed 2 8M free trim fork intact claim 40 1M joined claim 60 1M intact)"
# A mark around a fork that was made in part must not stay: live data would be wiped in a child.
for room in 0 1 2 3; do
    expect_same "marks that are refused, $room mappings left" \
        "claimed=40 shattered=1 child=0 claimed=20 intact=1 child=0 [0]" \
        "$(outcome preloaded ./steps claim 40 1M free shatter $room fork joined claim 20 1M keep fork intact joined)"
done

# ---- Locked memory.

locked=$(outcome preloaded ./steps lock resident reserve 1 1M resident reserve 6 1M reserve 1 50M resident \
    free claim 8 1M free trim zeroed 3 2M zeroed 1 60M claim 8 1M keep claim 1 60M free claim 3 5M fork intact claim 5 1M joined intact)
if [ "$(value locked 1 "$locked")" = 1 ]; then
    base=$(value resident 1 "$locked")
    # Whole pieces of 4 MiB are born at once, and numbers are cut to whole MiB.
    at_most "locked: a birth" $((1 + 4 + 1)) $(($(value resident 2 "$locked") - base))
    at_most "locked: later births" $((57 + 4 + 1)) $(($(value resident 3 "$locked") - base))
    expect_match "locked: memory that cannot be trimmed goes on being used" \
        'zero=1 zeroed=1 zero=1 claimed=8 claimed=1 claimed=3 intact=1 claimed=5 child=0 intact=1 \[0\]$' "$locked"
else
    echo "skip locked memory: mlockall is not permitted"
fi
expect_match "locking that is refused gives back what is idle first" \
    'retention off: locked memory is limited .* claimed=50 filtered=1 locked=0 claimed=50 \[0\]$' \
    "$(outcome preloaded TIDEMARK_REPORT=stderr ./steps claim 50 2M free filter lock lock claim 50 2M)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && (ulimit -l 100000) 2>/dev/null; then
    chmod 755 .
    : >report
    chmod 666 report
    same "locked memory is limited while 200 MB are idle" \
        "claimed=50 claimed=1 locked=1 mapped=1 claimed=10 [0]" \
        sh -c 'ulimit -l 100000; exec setpriv --reuid=65534 --clear-groups "$@"' - \
        ./steps claim 50 2M claim 1 100M free lock map 10M claim 10 1M
    expect_same "and says so" "off: locked memory is limited (RLIMIT_MEMLOCK)" "$(retention)"
else
    echo "skip limited locked memory: it takes root, setpriv and a limit that can be raised"
fi

# ---- A control group's limit is what TIDEMARK_RETAIN is a share of.

# The first of these in which a group with a limit can be made; sets group and limit_file.
make_group() {
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    for place in "/sys/fs/cgroup$own" /sys/fs/cgroup /sys/fs/cgroup/memory; do
        group=${place%/}/tidemark-test-$$
        mkdir "$group" 2>/dev/null || continue
        for limit_file in "$group/memory.max" "$group/memory.limit_in_bytes"; do
            [ -e "$limit_file" ] && (echo 1G >"$limit_file") 2>/dev/null && return 0
        done
        rmdir "$group"
    done
    group=''
    return 1
}

# grouped LIMIT COMMAND...
grouped() {
    echo "$1" >"$limit_file"
    shift
    preloaded sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" - "$@"
}

if make_group; then
    # A quarter of it: 50 MB stay, or do not.
    expect_same "a group of 1 GiB" "claimed=1 [0]" "$(outcome grouped 1G ./steps claim 1 50M free)"
    expect_same "keeps 50 MiB" "$((50 * MIB)) 0" "$(figure idle_bytes) $(figure returned_bytes)"
    expect_same "a group of 160 MiB" "claimed=1 [0]" "$(outcome grouped 160M ./steps claim 1 50M free)"
    expect_same "gives them back" "0 $((50 * MIB))" "$(figure idle_bytes) $(figure returned_bytes)"
    expect_same "unless it is told otherwise" "claimed=1 [0] $((50 * MIB))" \
        "$(outcome grouped 160M env TIDEMARK_RETAIN=40% ./steps claim 1 50M free) $(figure idle_bytes)"
    # A ceiling is a share of it, too, of what headroom leaves: 40 of 128 MiB.
    expect_same "a share of a group of 160 MiB" "claimed=39 [0]" \
        "$(outcome grouped 160M env TIDEMARK_HEAP_MEM=31.25% TIDEMARK_HEADROOM=0.2 ./steps claim 50 1M free 2>&1 |
            sed 's/tidemark: .*) \([a-z]*=\)/\1/')"
    rmdir "$group"
    group=''
else
    echo "skip a control group: none with a memory limit can be made below /sys/fs/cgroup"
fi

# ---- Pages in swap: not resident, and not zero.

swapped="claimed=1 claimed=1 swapped=1 zeroed=1 zero=1 zeroed=1 zero=1 [0]"
if [ "$(wc -l </proc/swaps)" -lt 2 ] && privileged "swapped pages"; then
    dd if=/dev/zero of=swap bs=1M count=96 2>/dev/null
    chmod 600 swap
    if mkswap swap >/dev/null 2>&1 && swapon "$PWD/swap" 2>/dev/null; then
        swap=$PWD/swap
    else
        echo "skip swapped pages: no swap file can be used in $PWD"
    fi
fi
if [ "$(wc -l </proc/swaps)" -ge 2 ]; then
    got=$(outcome preloaded ./steps claim 1 8M claim 1 40M page-out free zeroed 1 8M zeroed 1 40M)
    if [ "$(value swapped 1 "$got")" = 1 ]; then
        expect_same "calloc clears what was swapped out" "$swapped" "$got"
        at_least "and it was retained" 2 "$(figure reused)"
    else
        echo "skip swapped pages: the kernel did not swap any out"
    fi
fi
if [ -n "$swap" ]; then
    swapoff "$swap"
    swap=''
fi

# ---- How much is kept, and for how long.

# Four windows go by, in each of which the clock is looked at.
pass="wait 300 turn 200 64K wait 300 turn 200 64K wait 300 turn 200 64K wait 300 turn 200 64K"
demand="claim 64 1M claim 1 60M free resident $pass resident"
# shellcheck disable=SC2086
aged=$(outcome preloaded TIDEMARK_DECAY=200ms ./steps $demand)
at_least "TIDEMARK_DECAY: kept at first" 120 "$(value resident 1 "$aged")"
at_most "TIDEMARK_DECAY: gone in the end" 20 "$(value resident 2 "$aged")"
at_most "TIDEMARK_DECAY: idle" $((4 * MIB)) "$(figure idle_bytes)"
at_least "TIDEMARK_DECAY: returned" $((120 * MIB)) "$(figure returned_bytes)"
# shellcheck disable=SC2086
aged=$(outcome preloaded TIDEMARK_DECAY=never ./steps $demand)
at_least "TIDEMARK_DECAY=never: kept to the end" 120 "$(value resident 2 "$aged")"
expect_same "TIDEMARK_DECAY=never: returned" 0 "$(figure returned_bytes)"

demand="claim 64 1M claim 1 60M free resident claim 64 1M free turn 200 1M resident"
# retains TEXT: runs the demand under TIDEMARK_RETAIN=TEXT.
retains() {
    # shellcheck disable=SC2086
    kept=$(outcome preloaded TIDEMARK_RETAIN="$1" ./steps $demand)
}
retains none
at_least "TIDEMARK_RETAIN=none: resident" 120 "$(value resident 2 "$kept")"
expect_same "TIDEMARK_RETAIN=none: idle, returned" "$((124 * MIB)) 0" \
    "$(figure idle_bytes) $(figure returned_bytes)"
retains 200MiB
expect_same "TIDEMARK_RETAIN=200MiB: idle, returned" "$((124 * MIB)) 0" \
    "$(figure idle_bytes) $(figure returned_bytes)"
retains 8MiB
# The limit is looked at about once for 32 MiB of each size.
at_most "TIDEMARK_RETAIN=8MiB: resident" 48 "$(value resident 2 "$kept")"
at_most "TIDEMARK_RETAIN=8MiB: idle" $((40 * MIB)) "$(figure idle_bytes)"
at_least "TIDEMARK_RETAIN=8MiB: returned" $((120 * MIB)) "$(figure returned_bytes)"
retains 0
expect_same "TIDEMARK_RETAIN=0 retains nothing" "0 0 off: TIDEMARK_RETAIN=0" \
    "$(figure idle_bytes) $(figure claims) $(retention)"

# MiB for which huge pages are asked for: the packed area but for its first 2, and of a large
# block the first 4. Of the large block one page in sixteen is written.
if grep -q AnonHugePages /proc/meminfo; then
    for how in never:0:0:0 auto:2:62:66 always:4:64:164; do
        got=$(outcome preloaded TIDEMARK_HUGEPAGE="${how%%:*}" \
            ./steps claim 1 1M huge claim 62 1M huge sparse 1 100M huge)
        expect_same "TIDEMARK_HUGEPAGE" "$how" \
            "${how%%:*}:$(value huge 1 "$got"):$(value huge 2 "$got"):$(value huge 3 "$got")"
    done
    at_most "TIDEMARK_HUGEPAGE=auto: a block used in part stays small" 24 \
        "$(value resident 1 "$(outcome preloaded ./steps sparse 1 100M resident)")"
    at_most "TIDEMARK_HUGEPAGE=never: too" 20 \
        "$(value resident 1 "$(outcome preloaded TIDEMARK_HUGEPAGE=never ./steps sparse 1 100M resident)")"
else
    echo "skip TIDEMARK_HUGEPAGE: this kernel has no huge pages"
fi

# ---- fork: idle memory is neither copied nor shown to the child, and live data is.

for blocks in "1 64M" "64 1M"; do
    # shellcheck disable=SC2086
    got=$(outcome preloaded ./steps claim 3 1M keep claim $blocks free \
        fork intact found $blocks free claim 4 3M keep fork intact joined joined mark claim $blocks faults intact)
    faults=$(value faults 1 "$got")
    expect_same "fork with $blocks idle" \
        "claimed=3 claimed=${blocks% *} intact=1 found=${blocks% *} zero=1 claimed=4 intact=1 child=0 child=0 claimed=${blocks% *} intact=1 [0]" \
        "${got/ faults=$faults/}"
    at_most "fork with $blocks idle: faults of its next use" 60 "$faults"
done

# ---- seccomp: under a filter no file is opened or asked.

for how in prctl seccomp; do
    for use in "zeroed 4 8M free trim zeroed 3 40M" "turn 300 1M fork claim 1 1M joined" "map 1M"; do
        # shellcheck disable=SC2086
        got=$(outcome ./steps claim 4 8M free filter $how $use)
        # shellcheck disable=SC2086
        expect_same "filtered by $how: $use" "$got" \
            "$(outcome env LD_PRELOAD="$library" ./steps claim 4 8M free filter $how $use)"
        expect_match "filtered by $how, plain" 'filtered=1.* \[0\]$' "$got"
    done
done
expect_same "filtered before anything was kept" "filtered=1 claimed=8 zeroed=4 zero=1 [0]" \
    "$(outcome env LD_PRELOAD="$library" ./steps filter prctl claim 8 8M free zeroed 4 8M free turn 300 1M)"
expect_same "filtered, and memory refused" "claimed=50 claimed=1 limited=1 filtered=1 claimed=1 [0]" \
    "$(outcome env LD_PRELOAD="$library" ./steps claim 50 2M claim 1 150M free limit-unseen data 300M \
        filter prctl claim 1 200M)"
same "started under a filter" "filtered=1 claimed=4 zeroed=4 zero=1 [0]" \
    ./steps filter ioctl exec ./steps claim 4 8M free zeroed 4 8M free turn 300 1M
expect_same "a filter and the library, one after the other" "filtered=1 claimed=4 zeroed=4 zero=1 [0]" \
    "$(outcome ./steps filter ioctl exec env LD_PRELOAD="$library" ./steps claim 4 8M free zeroed 4 8M)"
expect_same "a report to a file is not written, and that is said" \
    "tidemark: cannot write the report to nowhere: the program installed a seccomp filter filtered=1 zeroed=1 zero=1 [0]" \
    "$(outcome env LD_PRELOAD="$library" TIDEMARK_REPORT=nowhere sh -c 'exec ./steps filter prctl zeroed 1 8M 2>&1')"

# ---- mremap that moves nothing: kernels before 6.17 refuse a piece of more than one mapping.

for way in plain preloaded; do
    given=''
    [ $way = plain ] || given=LD_PRELOAD=$library
    # shellcheck disable=SC2086
    expect_same "growth without mremap, $way" "claimed=1 filtered=1 grown=1 grown=1 grown=1 [0]" \
        "$(outcome env $given ./steps claim 1 60M filter move grow 70M grow 140M grow 300M)"
done

expect_end
