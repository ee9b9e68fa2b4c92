#!/bin/sh
# The library as it is shipped: exactly the intended symbols, versioned as ld.so needs them,
# nothing private of glibc, no library needed beyond libc and libm.
# Usage: check_exports.sh LIBRARY DRIVER_HOOKS HOST_HOOKS PUBLIC_HEADER
set -eu
library=$1 driver_hooks=$2 host_hooks=$3 header=$4
failures=0

fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# First field of every row of a table.
rows() { # MACRO FIELD FILE
    sed -n "s/^$1(\(.*\)/\1/p" "$3" | awk -F', *' -v field="$2" '{ print $field }'
}

intended() {
    rows HOOK 1 "$driver_hooks"
    rows HOST 2 "$host_hooks"
    # What jumps.S, limits.c and ending.c stand before.
    printf '%s\n' prctl syscall setrlimit setrlimit64 prlimit prlimit64 mlockall _exit _Exit
    for name in dlsym dlvsym dlopen dlclose; do
        echo "$name@GLIBC_2.2.5"
        echo "$name@@GLIBC_2.34"
    done
    awk -v RS=';' '/\nTIDEMARK_API / && match($0, /tidemark_[a-z_]+\(/) {
        print substr($0, RSTART, RLENGTH - 1) "@@TIDEMARK_1" }' "$header"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
intended | sort >"$work/intended"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
[ -s "$work/intended" ] || fail "the tables have no rows"
[ "$(grep -c '@@TIDEMARK_1$' "$work/intended")" -eq "$(grep -c '^TIDEMARK_API ' "$header")" ] ||
    fail "not every function of $header was found"
if ! diff "$work/intended" "$work/exported" >"$work/difference"; then
    fail "exported symbols differ from the tables (< intended, > exported):"
    cat "$work/difference"
fi

# A version node of ours on malloc or cu* would keep ld.so from binding to them.
if grep -E '^(malloc|free|calloc|cu[A-Z].*)@' "$work/exported"; then
    fail "these must not carry a version"
fi
if readelf -Ws "$library" | grep GLIBC_PRIVATE; then
    fail "private symbols of glibc are used"
fi
if readelf -d "$library" | grep TEXTREL; then
    fail "text relocations"
fi
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
if grep -vxE 'libc\.so\.6|libm\.so\.6' "$work/needed"; then
    fail "these libraries must not be needed"
fi
readelf -d "$library" | grep -q 'FLAGS_1.*NOW.*NOOPEN' || fail "not linked with -z now -z nodlopen"

[ "$failures" -eq 0 ] || exit 1
echo "$(wc -l <"$work/exported") exported symbols, all intended; needed: $(tr '\n' ' ' <"$work/needed")"
