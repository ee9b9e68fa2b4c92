#!/bin/sh
# ffmpeg, unmodified: frames of three sizes go to the simulated device and come back the same.
# Usage: [PRELOAD=LIBRARY] client_ffmpeg.sh BUILD_FOLDER
set -eu
driver=$1/simcuda
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
# ld.so runs a program without a library that it does not find.
[ -e "${PRELOAD:-$driver}" ] || { echo "FAILED: no $PRELOAD"; exit 1; }

if ! command -v ffmpeg >/dev/null; then
    echo "skipped: ffmpeg is not installed"
    exit 77
fi
if ! ffmpeg -hide_banner -filters 2>/dev/null | grep -q ' hwupload_cuda '; then
    echo "skipped: this ffmpeg is built without CUDA"
    exit 77
fi

# frames TRIP [COMMAND...]: checksums of the frames, each having made the trip.
frames() {
    trip=$1
    shift
    "$@" -f lavfi -i testsrc2=size=640x360:rate=30:duration=0.5 \
        -filter_complex "[0]split=3[a][b][c]; [a]format=nv12${trip}[large];
            [b]scale=320:180,format=nv12${trip}[middle]; [c]scale=160:90,format=nv12${trip}[small]" \
        -map '[large]' -map '[middle]' -map '[small]' -f framemd5 -
}

log=$expect_work/calls
plain=$(frames '' ffmpeg -nostdin -loglevel error)
device=$(frames ',hwupload_cuda,hwdownload,format=nv12' \
    env LD_LIBRARY_PATH="$driver" ${PRELOAD:+LD_PRELOAD="$PRELOAD"} TIDEMARK_DEVICE_RETAIN=off \
    SIMCUDA_LOG="$log" \
    ffmpeg -nostdin -loglevel error -init_hw_device cuda=cu:0 -filter_hw_device cu)
expect_lines "the plain run has its frames" 45 "$(echo "$plain" | grep -v '^#')"
expect_same "frames come back from the device as they were" "$plain" "$device"
expect_match "frames were held on the device" '^cuMemAlloc_v2 .* result=0$' "$(cat "$log")"
expect_match "and copied there" '^cuMemcpy2DAsync_v2 result=0$' "$(cat "$log")"
expect_same "what was held was given back" "$(grep -c '^cuMemAlloc_v2 ' "$log")" \
    "$(grep -c '^cuMemFree_v2 ' "$log")"
expect_end
