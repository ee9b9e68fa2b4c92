#!/bin/sh
# An OpenMP program on LLVM's CUDA plugin, unmodified: its copies through the simulated device
# give what the host gives, and its one kernel is skipped aloud.
# Usage: [PRELOAD=LIBRARY] [CUDA_PATH=TOOLKIT] client_offload.sh BUILD_FOLDER
set -eu
driver=$1/simcuda
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
# ld.so runs a program without a library that it does not find.
[ -e "${PRELOAD:-$driver}" ] || { echo "FAILED: no $PRELOAD"; exit 1; }

toolkit=${CUDA_PATH:-/usr/local/cuda}
compiler=$(command -v clang-14 || command -v clang || true)
skip() {
    echo "skipped: $1"
    exit 77
}
[ -n "$compiler" ] || skip "clang is not installed"
[ -x "$toolkit/bin/ptxas" ] || skip "no CUDA toolkit to build the kernel with"
plugins=$(dirname "$(readlink -f "$compiler")")/../lib
[ -e "$plugins/libomptarget.rtl.cuda.so" ] || skip "LLVM's CUDA plugin is not installed"

client=$expect_work/offload
"$compiler" -O1 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_75 \
    --cuda-path="$toolkit" -Wno-unknown-cuda-version "$(dirname "$0")/clients/offload.c" \
    -L"$plugins" -Wl,-rpath,"$plugins" -o "$client"

log=$expect_work/calls
plain=$(OMP_TARGET_OFFLOAD=DISABLED "$client")
device=$(env LD_LIBRARY_PATH="$driver" ${PRELOAD:+LD_PRELOAD="$PRELOAD"} SIMCUDA_LOG="$log" \
    SIMCUDA_KERNELS=skip OMP_TARGET_OFFLOAD=MANDATORY "$client" 2>"$expect_work/err")
expect_lines "the plain run has its sums" 8 "$plain"
expect_same "sums over the device are those over the host" "$plain" "$device"
expect_same "the kernel was skipped aloud" "simcuda: 1 kernel launch skipped" \
    "$(grep '^simcuda: ' "$expect_work/err")"
expect_match "device memory was held" '^cuMemAlloc_v2 .* result=0$' "$(cat "$log")"
expect_match "and page-locked memory" '^cuMemAllocHost .* result=0$' "$(cat "$log")"
expect_end
