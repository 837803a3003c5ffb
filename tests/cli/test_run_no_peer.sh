#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that a run without peer access gives the same bytes and reports its
# route. With --require peer the run fails and names the pair.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -x "$make_clip" ] || skip 'make_clip is not built'
pipeline='blur@0 ! sobel@1 ! threshold@0:level=96'
"$make_clip" clip.y4m 30 320 240

run() { # OUT [ARGUMENT...]
    "$peal" run --input clip.y4m --output "$1" --verify --json "${@:2}" "$pipeline" \
        >out.json 2>err.txt || fail "peal run $*"
    holds out.json "d['verified'] is True" "d['accepted'] == d['delivered']" \
        "d['conservation_violations'] == 0"
}

run peer.y4m --require peer
holds out.json "[l['route'] for l in d['links']][1:3] == ['peer', 'peer']"
says 'with access: peer'

[ -z "${PEAL_TEST_GPU:-}" ] || skip 'the parts of a GPU all see each other'
export PEAL_HOST_LINKS=0-1:none
run other.y4m
holds out.json \
    "all(l['route'] in ('staged', 'mapped-host') for l in d['links'][1:3])" \
    "all(l['why'] for l in d['links'])"
cmp peer.y4m other.y4m || fail 'other bytes without peer access'
says "without access: $(get out.json "d['links'][1]['route']"), the same bytes"

for route in staged mapped-host; do
    run other.y4m --require $route
    holds out.json "all(l['route'] == '$route' for l in d['links'][1:3])" \
        "d['links'][1]['staged'] == (30 if '$route' == 'staged' else 0)"
    cmp peer.y4m other.y4m || fail "other bytes, $route"
    says "required: $route, the same bytes"
done

printf 'kept' >kept.y4m
refuses 1 'device 0 (->|to) device 1' "$peal" run -i clip.y4m -o kept.y4m \
    --require peer "$pipeline"
grep -q 'blur@0' err.txt || fail 'the text does not name the stages'
[ "$(cat kept.y4m)" = kept ] || fail 'the output was touched by a run that cannot be'

# One device needs no access: its route is local, and --require peer accepts it.
# The command reports the route.
"$peal" run -i clip.y4m --require peer --json 'blur@0 ! sobel@0' >out.json 2>err.txt ||
    fail 'two stages on one device'
holds out.json "d['links'][1]['route'] == 'local'"
grep -q 'route is local' err.txt || fail 'nothing was said of the local route'
says 'one device: local, and said so'
