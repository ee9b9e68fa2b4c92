#!/bin/bash
# Programs that break preloaded allocators, one per way of breaking: each is built here, run plain
# and under the preload, and must say the same. What cannot be built here is skipped, aloud.
# Usage: preload_host.sh BUILD_FOLDER
set -eu
build=$1
sources=$(cd "$(dirname "$0")/preload" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$expect_work"
library=$build/libtidemark.so

have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "skip $2: $1 is not installed"
    return 1
}

# outcome COMMAND...: stdout, stderr and status as one text.
outcome() {
    status=0
    text=$("$@" 2>&1 </dev/null) || status=$?
    printf '%s [status %s]' "$text" "$status"
}

# same WHAT COMMAND...: plain, preloaded and preloaded but off agree.
same() {
    what=$1
    shift
    plain=$(outcome "$@")
    expect_same "$what" "$plain" "$(outcome env LD_PRELOAD="$library" "$@")"
    expect_same "$what, TIDEMARK=off" "$plain" "$(outcome env LD_PRELOAD="$library" TIDEMARK=off "$@")"
}

cc=${CC:-cc}
$cc -O1 -fno-builtin "$sources/stager.c" -o stager
$cc -O1 -fno-builtin "$sources/own_malloc.c" -o own_malloc
$cc -shared -fPIC "$sources/deep_plugin.c" -o deep_plugin.so
$cc -O1 "$sources/deep_host.c" -o deep_host
$cc -shared -fPIC "$sources/auditor.c" -o auditor.so
$cc -shared -fPIC "$sources/mmap_first.c" -o mmap_first.so

same "a plain program" ./stager
expect_same "it is served by us" "1" \
    "$(LD_PRELOAD=$library TIDEMARK_REPORT=stderr ./stager 2>&1 | grep -cE '^  claims +[1-9]')"

same "an executable with a malloc of its own" sh -c 'echo some line | ./own_malloc'
expect_match "and we stand aside" "^retention +off: the program has its own malloc$" \
    "$(echo line | LD_PRELOAD=$library TIDEMARK_REPORT=stderr ./own_malloc 2>&1)"

same "a plugin opened with RTLD_DEEPBIND" ./deep_host ./deep_plugin.so
same "a library that takes mmap over and allocates first" env LD_PRELOAD="$PWD/mmap_first.so" ./stager
expect_same "and one that does so before us" "all 1 again [status 0]" \
    "$(outcome env LD_PRELOAD="$PWD/mmap_first.so $library" ./stager)"
# With an auditor glibc lays static TLS out before it reads LD_PRELOAD and keeps too little for
# any jemalloc; it has a tunable for that.
same "LD_AUDIT" env LD_AUDIT="$PWD/auditor.so" GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 ./stager

same "an address space limited before the start" sh -c 'ulimit -v 300000; exec ./stager 1000'
expect_match "retains nothing and says so" "^retention +off: the address space is limited" \
    "$(LD_PRELOAD=$library TIDEMARK_REPORT=stderr bash -c 'ulimit -v 300000; exec ./stager' 2>&1)"
same "an address space limited by the program itself" bash -c 'ulimit -v 400000; ./stager 1000; echo $?'

$cc -O1 -D_GNU_SOURCE "$sources/no_driver.c" -o no_driver -ldl
expect_same "without a driver our exports are not found" \
    "$(./no_driver)" "$(LD_PRELOAD=$library ./no_driver 2>err)"
expect_same "and called all the same, they say so and load nothing" \
    "weak: result 3, untouched 1, driver 0" "$(cat err)"

$cc -O1 -fno-builtin "$sources/limits.c" -o limits
same "a program that limits its own address space" ./limits
expect_same "keeps what it has, and gets no more than it may" \
    "setrlimit 0, mmap 1, stage 1, beyond 1, kept 3 [status 0]" \
    "$(outcome env LD_PRELOAD="$library" ./limits)"
if [ "$(id -u)" = 0 ] && have setpriv "locked memory"; then
    same "a program without privilege that locks its memory" bash -c \
        'ulimit -l 600000; chmod 755 .; exec setpriv --reuid=65534 --clear-groups ./limits lock'
fi

same "MALLOC_CONF is the program's, not ours" \
    env MALLOC_CONF=stats_print:true,confirm_conf:true,nonsense:1,dirty_decay_ms:0 ./stager

if have g++ "operator new"; then
    g++ -O1 -std=c++17 "$sources/new_throws.cc" -o new_throws
    same "operator new throws, aligns and gives null" ./new_throws
fi

if [ -e /usr/include/jemalloc/jemalloc.h ]; then
    $cc -O1 "$sources/jemalloc_mix.c" -o jemalloc_mix -ljemalloc
    same "a program linked to jemalloc that mixes its API with malloc" ./jemalloc_mix
    expect_same "which succeeds" " [status 0]" "$(outcome ./jemalloc_mix)"
    # Linked to a library that is gone at run time but for its name, which is libm's.
    nm -D --defined-only "$library" | awk '$3 ~ /alloc[xi]|mallctl/ { print "void " $3 "(void) {}" }' |
        $cc -shared -fPIC -nostdlib -fno-builtin -w -Wl,-soname,libm.so.6 -x c - -o stub.so
    $cc -O1 "$sources/jemalloc_mix.c" -o jemalloc_late ./stub.so
    expect_same "its API is complete without its library" " [status 0]" \
        "$(outcome env LD_PRELOAD="$library" ./jemalloc_late)"
else
    echo "skip jemalloc's API: libjemalloc-dev is not installed"
fi

if have musl-gcc "a musl program"; then
    musl-gcc -O1 -fno-builtin "$sources/stager.c" -o stager_musl
    same "a musl program" ./stager_musl
    same "a musl child" sh -c './stager_musl && ./stager'
fi

if $cc -m32 -O1 "$sources/stager.c" -o stager_32 2>/dev/null; then
    expect_match "a 32-bit program runs, after a line of the loader's" '^all 1 again$' \
        "$(LD_PRELOAD=$library ./stager_32 2>/dev/null)"
else
    echo "skip a 32-bit program: the compiler has no 32-bit libraries"
fi

$cc -static -O1 "$sources/stager.c" -o stager_static
same "a static program" ./stager_static

if $cc -fsanitize=address -O1 "$sources/stager.c" -o stager_asan 2>/dev/null; then
    same "an AddressSanitizer program, its order check off" \
        env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ./stager_asan
else
    echo "skip an AddressSanitizer program: the compiler has no sanitizer library"
fi
if $cc -fsanitize=thread -O1 "$sources/stager.c" -o stager_tsan 2>/dev/null &&
    setarch -R ./stager_tsan >/dev/null 2>&1; then
    same "a ThreadSanitizer program" setarch -R ./stager_tsan
else
    echo "skip a ThreadSanitizer program: it does not build or run here"
fi
if have valgrind "valgrind"; then
    same "valgrind" valgrind -q --error-exitcode=9 ./stager
fi

if [ "$(id -u)" = 0 ] && have setpriv "a setuid program"; then
    cp "$(command -v cat)" setuid_cat
    chmod 4755 setuid_cat
    chmod 755 "$expect_work"
    expect_same "a setuid program is not reached, without a word" "0 [status 0]" \
        "$(outcome env LD_PRELOAD="$library" setpriv --reuid=65534 --clear-groups \
            sh -c './setuid_cat /proc/self/maps | grep -c libtidemark || true')"
else
    echo "skip a setuid program: only root can make one"
fi

# A wrong free is one line that names the pointer and what it is, and a trap.
$cc -O1 -fno-builtin "$sources/misuse.c" -o misuse 2>/dev/null
for how in twice inside trimmed grown; do
    status=0
    pointer=$(LD_PRELOAD=$library ./misuse $how 2>err) || status=$?
    what='a block was freed twice'
    [ $how = inside ] && what='a pointer was freed that is not the start of a block'
    expect_same "a wrong free ($how) is named" "tidemark: $what: $pointer" "$(cat err)"
    expect_same "a wrong free ($how) traps" 132 "$status"
done

# Host side effects: the library changes nothing that a program can see of itself.
cat >state.sh <<'S'
umask
grep -E '^(Threads|SigBlk|SigIgn|SigCgt)' /proc/self/status
ls /proc/self/fd | wc -l
S
same "umask, threads, signals and descriptors" sh state.sh

expect_end
