#!/bin/sh
# Tables whose order matters are in order: shim_hook_named searches driver_hooks.def by halves.
# Usage: check_tables.sh SOURCE_FOLDER
set -eu
cd "$1"
work=$(mktemp)
trap 'rm -f "$work"' EXIT
sed -n 's/^HOOK(\([A-Za-z0-9_]*\),.*/\1/p' shim/driver_hooks.def >"$work"
[ -s "$work" ]
LC_ALL=C sort -c "$work"
echo "$(wc -l <"$work") hooks in order"
