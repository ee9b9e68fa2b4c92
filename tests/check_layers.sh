#!/bin/sh
# Arrows point down only: shim -> pool -> policy; tools and bench read pool and policy; shim
# alone meets the outside. Also: C11 atomics always name their order, and option values
# never leave the environment behind the one reader. Usage: check_layers.sh SOURCE_FOLDER
set -eu
cd "$1"
failures=0

# forbid FOLDER PATTERN WHY
forbid() {
    if grep -rnE "$2" "$1" --include='*.c' --include='*.h' --include='*.S'; then
        echo "FAILED: $1: $3"
        failures=$((failures + 1))
    fi
}

forbid policy '#include "(pool|shim|tools|bench|tests)/' "policy includes nothing above it"
forbid pool '#include "(shim|tools|bench|tests)/' "pool includes policy only"
forbid shim '#include "(tools|bench|tests)/' "shim includes pool and policy only"
forbid tools/tidemark '#include "(shim|bench|tests)/' "the command reads pool and policy only"
forbid bench '#include "(shim|tests)/' "benchmarks read pool and policy only"
forbid policy '\<(malloc|free|getenv|printf|snprintf|open|write)\(' "policy is pure"
forbid pool '\<(malloc|calloc|realloc|free|getenv|printf|snprintf|mmap|munmap)\(' \
    "memory enters the pool through pool/source.h"
forbid shim '\<(exit|abort|signal|sigaction|setenv|umask|pthread_create)\(' \
    "the host program is never ended or altered"
for room in policy pool shim tools bench; do
    forbid $room '\<atomic_(load|store|fetch_[a-z]+|exchange|compare_exchange_(weak|strong))\(' \
        "atomics name their order"
    forbid $room '\<volatile\>.*(thread|shared)' "no volatile for threads"
done

[ "$failures" -eq 0 ] || exit 1
echo "layers hold"
