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

# alternating COUNT DRIVER [NAME=VALUE...]: frames that change between two sizes so often, through one
# context; each size needs memory of its own. The driver's calls are in $log.
cd "$expect_work"
for size in 640x360 320x180; do
    ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=$size:rate=10:duration=0.2 -c:v mjpeg $size.avi
done
alternating() {
    count=$1
    shift
    rm -f "$log" list
    for _ in $(seq "$count"); do
        printf 'file 640x360.avi\nfile 320x180.avi\n' >>list
    done
    "$@" -nostdin -loglevel error -init_hw_device cuda=cu:0 -filter_hw_device cu -f concat -i list \
        -vf format=nv12,hwupload,hwdownload,format=nv12 -f framemd5 - | grep -v '^#'
}
allocations() {
    grep -c '^cuMemAlloc_v2 ' "$log"
}
plain=$(alternating 4 env LD_LIBRARY_PATH="$driver" SIMCUDA_LOG="$log" ffmpeg)
expect_same "each change of size asks the driver" 8 "$(allocations)"
if [ -n "${PRELOAD:-}" ]; then
    kept=$(alternating 4 env LD_LIBRARY_PATH="$driver" LD_PRELOAD="$PRELOAD" SIMCUDA_LOG="$log" ffmpeg)
    expect_same "frames of alternating sizes are the same" "$plain" "$kept"
    warm=$(allocations)
    alternating 12 env LD_LIBRARY_PATH="$driver" LD_PRELOAD="$PRELOAD" SIMCUDA_LOG="$log" ffmpeg >/dev/null
    expect_same "and need no allocation once both sizes were there" "$warm" "$(allocations)"
fi
expect_end
