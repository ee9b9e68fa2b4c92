#!/bin/sh
# shim/driver_hooks.def against what the code that reads it relies on: the order, which is
# searched by halves; that a symbol starts with its base, so that forms lie together; and that a
# base is hooked in every form that the simulated driver's table has of it, as that has it. Also:
# every hook asks for the driver in its own name, by which a call is known as a bind's boundary.
# Usage: check_tables.sh SOURCE_FOLDER
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each row as one line: symbol base since flags.
tr -d '\n' <shim/driver_hooks.def | sed 's/HOOK(\|CALL(/\n&/g' |
    sed -n 's/^HOOK(\(cu[A-Za-z0-9_]*\), *\(cu[A-Za-z0-9]*\), *\([0-9]*\), *\([02]\),.*/\1 \2 \3 \4/p' \
        >"$work/hooks"
[ "$(grep -c '^HOOK(' shim/driver_hooks.def)" = "$(wc -l <"$work/hooks")" ] || {
    echo "FAILED: a row is not read here"
    exit 1
}
cut -d ' ' -f 1 "$work/hooks" | LC_ALL=C sort -c
awk 'index($1, $2) != 1 { print "FAILED: " $1 " does not start with its base"; bad = 1 }
    END { exit bad }' "$work/hooks"

cut -d ' ' -f 2 "$work/hooks" | sort -u >"$work/bases"
cat tools/simcuda/names/*.def | tr -d '\n' | sed 's/\(DONE\|REFUSED\)(/\n/g' |
    sed -n 's/^\(cu[A-Za-z0-9_]*\), *\(cu[A-Za-z0-9]*\), *\([0-9]*\), *\([A-Z_]*\).*/\1 \2 \3 \4/p' |
    sed 's/COMMON$/0/; s/PER_THREAD$/2/' |
    awk 'NR == FNR { hooked[$1]; next } $2 in hooked' "$work/bases" - | sort >"$work/forms"
sort "$work/hooks" | diff "$work/forms" - || {
    echo "FAILED: not every form of a base is hooked, or not as the driver has it (< driver, > hooks)"
    exit 1
}
cut -d ' ' -f 1 "$work/hooks" | sort >"$work/symbols"
cat shim/*.c | awk '/^CUresult cu[A-Za-z0-9_]*\(/ { name = $2; sub(/\(.*/, "", name) }
    /shim_driver_get\(\)/ && name != "" { print name; name = "" } /^}/ { name = "" }' |
    sort -u >"$work/asking"
if comm -23 "$work/symbols" "$work/asking" | grep .; then
    echo "FAILED: these do not call shim_driver_get() themselves"
    exit 1
fi
echo "$(wc -l <"$work/hooks") hooks in order, every form of $(wc -l <"$work/bases") bases"
