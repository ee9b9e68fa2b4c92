#!/bin/sh
# Every header compiles alone. Usage: check_headers.sh COMPILER SOURCE_FOLDER
set -eu
compiler=$1
cd "$2"
count=0
for header in policy/*.h pool/*.h shim/*.h tools/*/*.h bench/*.h; do
    [ -e "$header" ] || continue
    printf '#include "%s"\nint check_headers_unit;\n' "$header" |
        "$compiler" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I. -x c - || {
        echo "FAILED: $header does not compile alone"
        exit 1
    }
    count=$((count + 1))
done
[ "$count" -gt 0 ]
echo "$count headers compile alone"
