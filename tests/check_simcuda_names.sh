#!/bin/sh
# The simulator's table against the toolkit, where there is one: every name that the driver
# exports, and every (name, version, stream kind) that cudaTypedefs.h declares; and against the
# libraries as built: exactly the rows that their version has, and what tests ask.
# Usage: [CUDA_PATH=TOOLKIT] check_simcuda_names.sh BUILD_FOLDER SOURCE_FOLDER
set -eu
build=$1
names=$2/tools/simcuda/names
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
toolkit=${CUDA_PATH:-/usr/local/cuda}

# Every row as one line: symbol base since stream.
cat "$names"/*.def | tr -d '\n' | sed 's/\(DONE\|REFUSED\)(/\n/g' |
    sed -n 's/^\(cu[A-Za-z0-9_]*\), *\(cu[A-Za-z0-9]*\), *\([0-9]*\), *\([A-Z_]*\).*/\1 \2 \3 \4/p' |
    sort >"$expect_work/rows"
exported() { # LIBRARY
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort
}

check_library() { # FOLDER VERSION
    {
        awk -v version="$2" '$3 <= version { print $1 }' "$expect_work/rows"
        grep -o '\<simcuda_[a-z_]*(' "$names/../simcuda.h" | tr -d '('
    } | sort -u >"$expect_work/wanted"
    expect_same "$1 exports its rows and what tests ask" "$(cat "$expect_work/wanted")" \
        "$(exported "$build/$1/libcuda.so.1")"
}
check_library simcuda-11.4 11040
check_library simcuda-12.2 12020
check_library simcuda 13000

if [ ! -e "$toolkit/lib64/stubs/libcuda.so" ]; then
    expect_end
    echo "skipped: no CUDA toolkit to compare the table with"
    exit 77
fi

exported "$toolkit/lib64/stubs/libcuda.so" | grep '^cu' >"$expect_work/driver"
expect_same "no name of the driver is missing" "" \
    "$(comm -23 "$expect_work/driver" "$expect_work/wanted")"

# PFN_cuMemAlloc_v3020, PFN_cuMemcpy_v7000_ptds: and so each base name and version.
cut -d ' ' -f 2- "$expect_work/rows" | sort >"$expect_work/ours"
cat "$toolkit"/include/cuda*Typedefs.h | grep -o '^ *typedef .*\*PFN_cu[A-Za-z0-9]*_v[0-9a-z_]*)' |
    sed -e 's/.*PFN_//' -e 's/)$//' -e '/_pt[ds][sz]$/!s/$/ COMMON/' \
        -e 's/_pt[ds][sz]$/ PER_THREAD/' -e 's/_v\([0-9]*\) / \1 /' |
    grep -v '^cuWGL' | sort -u >"$expect_work/theirs"
expect_same "versions are those that the toolkit declares" "$(cat "$expect_work/theirs")" \
    "$(cat "$expect_work/ours")"
expect_end
