#!/bin/bash
# Programs that come to the driver in unusual ways, or in unusual company: each is built here, run
# plain and under the preload, and must say the same; and where the driver's memory is limited, the
# limit must hold. What cannot be built or run here is skipped, aloud.
# Usage: preload_roads.sh BUILD_FOLDER
set -eu
build=$1
tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/expect.sh
. "$tests/expect.sh"
cd "$expect_work"
library=$build/libtidemark.so
export LD_LIBRARY_PATH=$build/simcuda
cc="${CC:-cc} -O1 -D_GNU_SOURCE -I$tests/.."
MIB=1048576

have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "skip $2: $1 is not installed"
    return 1
}

# outcome COMMAND...: stdout, stderr and status as one text. Whoever hangs is ended.
outcome() {
    status=0
    text=$(timeout -k 1 30 "$@" 2>&1 </dev/null) || status=$?
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

# limited WHAT CLIENT... ROUTE: with room for three of five steps. The client is alloc_steps.
limited() {
    what=$1
    shift
    expect_same "$what: the limit holds" \
        "granted 3 refused 2 first_error 2 total $((3 * MIB)) free 0 [status 0]" \
        "$(outcome env LD_PRELOAD="${before-}$library${after-}" TIDEMARK_DEVICE_MEM=3MiB \
            TIDEMARK_HEADROOM=0 "$@" $MIB 5 | grep -v '^tidemark: cuMemAlloc_v2 refused')"
}

# --- How a program is linked ---

plt=(-DROUTE_PLT "$tests/clients/alloc_steps.c" "$build/simcuda/libcuda.so.1")
$cc "${plt[@]}" -o pie
$cc "${plt[@]}" -no-pie -fno-pie -o no_pie
$cc "${plt[@]}" -Wl,-z,lazy -o lazy
$cc "${plt[@]}" -Wl,-z,now -o now
for client in pie no_pie lazy now; do
    limited "linked, $client" ./$client plt
done
limited "linked, bound at start" env LD_BIND_NOW=1 ./lazy plt

$cc "$tests/clients/alloc_steps.c" -o steps -ldl
for route in dlsym gpa gpa2; do
    limited "$route" ./steps $route
done

if have python3 "ctypes"; then
    cat >client.py <<'P'
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
by_attribute, by_item = cuda.cuMemAlloc_v2, cuda["cuMemAlloc_v2"]
place = lambda f: ctypes.cast(f, ctypes.c_void_p).value
print(place(by_attribute) == place(by_item), hasattr(cuda, "cuMemAlloc_v9"))
address, context = ctypes.c_uint64(), ctypes.c_void_p()
print(cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
print([by_attribute(ctypes.byref(address), ctypes.c_size_t(1 << 20)) for i in range(4)])
P
    same "ctypes" python3 client.py
    expect_match "ctypes: the limit holds" '^\[0, 0, 2, 2\]$' \
        "$(LD_PRELOAD=$library TIDEMARK_DEVICE_MEM=2MiB TIDEMARK_HEADROOM=0 python3 client.py 2>/dev/null)"
fi

# --- Whose functions a program is given ---

$cc -shared -fPIC -DOWN_NAME='"./libown.so"' "$tests/roads/own_library.c" -o libown.so
$cc "$tests/roads/scopes.c" -o scopes -ldl
same "no driver: a program sees none of ours" ./scopes ./libown.so
same "a driver opened for its handle only" ./scopes ./libown.so "$build/simcuda/libcuda.so.1"
same "a driver opened for everyone" ./scopes ./libown.so "$build/simcuda/libcuda.so.1" global
expect_match "the driver is found there" '^cuMemAlloc_v2: default libcuda.so.1, main libcuda.so.1,' \
    "$(LD_PRELOAD=$library ./scopes ./libown.so "$build/simcuda/libcuda.so.1" global)"
$cc -shared -fPIC -DOWN_NAME='"./libown.so"' -Wl,-soname,libown_linked.so "$tests/roads/own_library.c" \
    -o libown_linked.so
$cc "$tests/roads/scopes.c" -Wl,--no-as-needed ./libown_linked.so -Wl,-rpath,. -o scopes_own -ldl
same "a program linked to a library with the driver's names" ./scopes_own ./libown.so
same "the same, with a driver" ./scopes_own ./libown.so "$build/simcuda/libcuda.so.1"

# --- Other preloads that stand before dlsym ---

$cc -shared -fPIC -w "$tests/roads/other_dlsym.c" -o other.so
$cc -shared -fPIC -w -DFROM_LIBC "$tests/roads/other_dlsym.c" -o past.so
$cc "$tests/roads/special.c" -o special -ldl
both='special 42, next 1, again 1 [status 0]'
expect_same "an overlay after us answers" "$both" "$(outcome env LD_PRELOAD="$library ./other.so" ./special)"
expect_same "an overlay before us answers" "$both" "$(outcome env LD_PRELOAD="./other.so $library" ./special)"
for route in dlsym gpa gpa2; do
    after=" ./other.so" limited "an overlay after us, $route" ./steps $route
    before="./other.so " limited "an overlay before us, $route" ./steps $route
done
# One that takes the C library's dlsym past us cannot be helped, and harms nobody.
expect_same "an overlay before us that goes past us" "granted 5 refused 0" \
    "$(LD_PRELOAD="./past.so $library" ./steps dlsym $MIB 5 | cut -d ' ' -f 1-4)"
before="./past.so " limited "the same, linked" ./pie plt

# --- Drivers that look themselves up ---

for kind in plain indirect open; do
    mkdir -p small_$kind
    case $kind in
    plain) options=-Wl,-Bsymbolic ;;
    indirect) options='-Wl,-Bsymbolic -DINDIRECT' ;;
    open) options= ;; # its own calls go through the scope, and so through us
    esac
    # shellcheck disable=SC2086 # several
    $cc -shared -fPIC -fvisibility=hidden $options -Wl,-soname,libcuda.so.1 \
        "$tests/roads/small_driver.c" -o small_$kind/libcuda.so.1 -ldl
done
for route in dlsym gpa2; do
    limited "a driver that looks itself up, $route" env LD_LIBRARY_PATH=small_plain ./steps $route
    limited "a driver with an indirect function, $route" env LD_LIBRARY_PATH=small_indirect ./steps $route
    # It even hands out what it takes for its own.
    expect_match "a driver whose calls leave it, $route" '^granted 3 refused 2 first_error 2' \
        "$(LD_LIBRARY_PATH=small_open LD_PRELOAD=$library TIDEMARK_DEVICE_MEM=3MiB TIDEMARK_HEADROOM=0 \
            timeout 30 ./steps $route $MIB 5 2>/dev/null)"
done
$cc -DROUTE_PLT "$tests/clients/alloc_steps.c" small_plain/libcuda.so.1 -o small_linked
limited "a driver that looks itself up, linked" env LD_LIBRARY_PATH=small_plain ./small_linked plt

# --- Drivers that come and go ---

$cc "$tests/roads/reopen.c" -o reopen -ldl
expect_same "plain, a closed driver is gone, and works when it is opened again" \
    "gone 1, good 9, ours 0 [status 0]" "$(outcome ./reopen cuMemAlloc_v2 9)"
expect_same "a driver opened again elsewhere is hooked" "gone 1, good 9, ours 9 [status 0]" \
    "$(outcome env LD_PRELOAD="$library" ./reopen nothing 9)"
expect_same "looked up before, in a name that is not hooked" "gone 1, good 9, ours 9 [status 0]" \
    "$(outcome env LD_PRELOAD="$library" ./reopen cuDeviceGet 9)"
# It stays, since the program holds functions of ours that lead to it.
expect_same "looked up before, it stays" "gone 0, good 9, ours 9 [status 0]" \
    "$(outcome env LD_PRELOAD="$library" ./reopen cuMemAlloc_v2 9)"

$cc -shared -fPIC "$tests/roads/plugin.c" "$build/simcuda/libcuda.so.1" -o plugin.so
$cc -w "$tests/roads/replug.c" -o replug -ldl
same "a library linked to the driver comes and goes" ./replug ./plugin.so 9
expect_same "it goes past us, and the driver is opened by itself" "good 9, ours 8 [status 0]" \
    "$(outcome env LD_PRELOAD="$library" ./replug ./plugin.so 9 past)"

$cc "$tests/roads/race.c" -o race -ldl -lpthread
for round in 1 2 3; do
    same "threads look up while the driver comes and goes, $round" ./race 8 500
done
expect_same "and all roads agree" "bad 0 [status 0]" "$(outcome env LD_PRELOAD="$library" ./race 8 2000)"

cp "$build/simcuda/libcuda.so.1" second.so
cat >two.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *one = dlopen("libcuda.so.1", RTLD_NOW), *two = dlopen("./second.so", RTLD_NOW);
    Dl_info info = {0};
    dladdr(dlsym(one, "cuMemAlloc_v2"), &info);
    fputs("first ", stdout), puts(info.dli_fname);
    dladdr(dlsym(two, "cuMemAlloc_v2"), &info);
    fputs("second ", stdout), puts(info.dli_fname);
}
C
$cc two.c -o two -ldl
expect_same "a second copy of the driver is left alone, and named" \
    "tidemark: cuMemAlloc_v2: the program uses a second copy of the driver, and what it does by that is not seen
first $library
second ./second.so [status 0]" \
    "$(outcome "$build/tidemark" run --strict -- ./two)"

# --- The loader's lock ---

$cc -shared -fPIC "$tests/roads/joins.c" "$build/simcuda/libcuda.so.1" -o joins.so -lpthread
$cc "$tests/roads/open_joins.c" -o open_joins -ldl
same "a constructor that waits for a thread which calls the driver" ./open_joins ./joins.so
expect_same "which it does" "result 3 [status 0]" "$(outcome env LD_PRELOAD="$library" ./open_joins ./joins.so)"

# --- Auditors, debuggers, checkers ---

$cc -shared -fPIC "$tests/preload/auditor.c" -o auditor.so
tunables=GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384
for route in dlsym gpa2; do
    limited "LD_AUDIT, $route" env LD_AUDIT="$PWD/auditor.so" $tunables ./steps $route
done
limited "LD_AUDIT, linked" env LD_AUDIT="$PWD/auditor.so" $tunables ./pie plt

if have gdb "gdb"; then
    $cc -g "$tests/clients/alloc_steps.c" -o steps_debug -ldl
    gdb -q -batch -iex 'set startup-with-shell off' -iex 'set auto-load no' \
        -ex "set env LD_PRELOAD $library" -ex "set env TIDEMARK_DEVICE_MEM 3MiB" \
        -ex "set env TIDEMARK_HEADROOM 0" -ex 'set breakpoint pending on' -ex 'break sim_linear_allocate' \
        -ex "run dlsym $MIB 5" -ex backtrace -ex 'delete' -ex continue ./steps_debug >gdb.out 2>&1 || true
    expect_match "gdb: the program runs, limited" '^granted 3 refused 2 first_error 2' "$(cat gdb.out)"
    expect_match "gdb: from the driver one sees us" '^#[0-9]+ .*cuMemAlloc_v2' "$(cat gdb.out)"
    expect_match "gdb: and the program" '^#[0-9]+ .*main \(' "$(cat gdb.out)"
fi
if have valgrind "valgrind"; then
    limited "valgrind" valgrind -q --error-exitcode=9 ./steps dlsym
    limited "valgrind, linked" valgrind -q --error-exitcode=9 ./pie plt
fi
if $cc -fsanitize=address "$tests/clients/alloc_steps.c" -o steps_asan -ldl 2>/dev/null; then
    for route in dlsym gpa2; do
        limited "AddressSanitizer, $route" \
            env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ./steps_asan $route
    done
    $cc -fsanitize=address "${plt[@]}" -o plt_asan
    limited "AddressSanitizer, linked" \
        env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ./plt_asan plt
else
    echo "skip AddressSanitizer: the compiler has no sanitizer library"
fi
if $cc -fsanitize=thread "$tests/clients/alloc_steps.c" -o steps_tsan -ldl 2>/dev/null &&
    setarch -R ./steps_tsan dlsym 1 1 >/dev/null 2>&1; then
    for route in dlsym gpa2; do
        limited "ThreadSanitizer, $route" setarch -R ./steps_tsan $route
    done
    $cc -fsanitize=thread "${plt[@]}" -o plt_tsan
    limited "ThreadSanitizer, linked" setarch -R ./plt_tsan plt
    $cc -fsanitize=thread "$tests/roads/race.c" -o race_tsan -ldl -lpthread
    plain=$(outcome setarch -R ./race_tsan 4 50 | tail -n 1)
    expect_same "ThreadSanitizer, threads that look up" "$plain" \
        "$(outcome env LD_PRELOAD="$library" setarch -R ./race_tsan 4 50 | tail -n 1)"
else
    echo "skip ThreadSanitizer: it does not build or run here"
fi
expect_end
