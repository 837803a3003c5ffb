#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows a video that goes through three kernels on two devices. The command
# verifies the result, which also equals that of independent filters.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -x "$make_clip" ] || skip 'make_clip is not built'
pipeline='blur@0 ! sobel@1 ! threshold@0:level=96'

run() { # IN OUT [ARGUMENT...]
    "$peal" run --format y4m --input "$1" --output "$2" --json "${@:3}" "$pipeline" \
        >out.json 2>err.txt || fail "peal run $*"
    python3 -m json.tool out.json >/dev/null || fail 'no JSON'
}

conserved() { # FRAMES
    holds out.json "d['items'] == $1" "d['error'] is None" \
        "d['accepted'] == d['delivered'] == 4 * $1" \
        "d['dead_lettered'] == 0 and d['queued'] == 0" \
        "d['conservation_violations'] == 0" \
        "all(l['accepted'] == l['delivered'] == $1 for l in d['links'])" \
        "[l['route'] for l in d['links']][1:3] == ['peer', 'peer']" \
        "[k['device'] for k in d['kernels']] == [0, 1, 0]" \
        "all(k['handled'] == $1 for k in d['kernels'])" \
        "d['emulated'] is True" "d['throughput_items_per_s'] > 0"
}

frames=100
! sanitized || frames=20
"$make_clip" clip.y4m $frames 640 480
run clip.y4m out.y4m --verify
holds out.json "d['verified'] is True" "d['max_difference'] == 0" \
    "d['verified_items'] == $frames" \
    "(d['latency_ns_p90'] is None) == ($frames < 100)" \
    "d['latency_ns_p999'] is None and d['latency_ns_p999_why']"
conserved $frames
difference=$(python3 "$here/filters.py" clip.y4m out.y4m 96 $((frames - 1))) ||
    fail "differs from the independent filters: $difference"
says "$frames frames of 640x480 verified, largest difference $difference"

"$make_clip" small.y4m 12 97 61
run small.y4m small_out.y4m --verify
difference=$(python3 "$here/filters.py" small.y4m small_out.y4m 96) ||
    fail "differs from the independent filters: $difference"
says "12 frames of 97x61 verified, largest difference $difference"

# Negative control: the comparison finds another filter.
"$peal" run -i small.y4m -o other.y4m 'blur ! sobel ! threshold:level=97' >/dev/null 2>&1
! python3 "$here/filters.py" small.y4m other.y4m 96 >/dev/null 2>&1 ||
    fail 'the comparison cannot fail'

# The bytes are equal for each way to send them, and with more lanes.
run clip.y4m again.y4m
holds out.json "d['verified'] is None and d['verified_why']"
conserved $frames
cmp out.y4m again.y4m || fail 'other bytes without --verify'
"$peal" run -i - -o - --capacity 1 "$pipeline" <clip.y4m >pipe.y4m 2>err.txt ||
    fail 'peal run with pipes'
cmp out.y4m pipe.y4m || fail 'other bytes through pipes'
grep -q 'messages delivered' err.txt || fail 'no report on stderr'
for lanes in 4 32; do
    run small.y4m lanes.y4m --verify --lanes $lanes
    cmp small_out.y4m lanes.y4m || fail "other bytes with $lanes lanes"
done
says 'the same bytes without --verify, through pipes, with 4 and 32 lanes'

# Parameters of frames pass, although they change the size of a frame.
python3 - <<'END'
data = open("small.y4m", "rb").read()
open("parameters.y4m", "wb").write(data.replace(b"FRAME\n", b"FRAME Ip XA=1\n", 5))
END
"$peal" run -i parameters.y4m -o out2.y4m --verify 'invert ! invert@1' >/dev/null 2>err.txt ||
    fail 'parameters of frames'
cmp parameters.y4m out2.y4m || fail 'parameters of frames'
says 'parameters of frames pass through'
