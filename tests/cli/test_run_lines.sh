#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows a large text file that goes through three kernels on three devices. The
# output is the input, in order. All samples of the counters show conservation.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
devices 3
lines=250000
! sanitized || lines=30000

# Lines of all kinds: empty, long, and with bytes that are not text. The last
# line has no newline.
python3 - $lines <<'END'
import random, sys
n = int(sys.argv[1])
source = random.Random(3)
pool = [bytes(source.choices(range(32, 127), k=source.randrange(120)))
        for _ in range(997)]
pool += [b"", b"\0", b"\xff\xfe \x80", bytes(300), b"x" * 70000]
with open("in.txt", "wb") as file:
    for i in range(n - 1):
        file.write(b"%d %s\n" % (i, pool[i * 7919 % len(pool) if i % 4001 else -1]))
    file.write(b"the end")
END

"$peal" run --format lines --input in.txt --output out.txt --json \
    'crc32c@0 ! xor@1:key=85 ! xor@2:key=85' >out.json 2>err.txt || fail 'peal run'
cmp in.txt out.txt || fail 'the output is not the input'
holds out.json "d['items'] == $lines" "d['accepted'] == d['delivered'] == 4 * $lines" \
    "d['dead_lettered'] == 0 and d['queued'] == 0" \
    "d['conservation_samples'] >= 4" "d['conservation_violations'] == 0" \
    "[k['device'] for k in d['kernels']] == [0, 1, 2]" \
    "d['latency_ns_p50'] <= d['latency_ns_p999'] <= d['latency_ns_max']"
says "$lines lines in $(get out.json "round(d['seconds'], 2)") s," \
    "$(get out.json "d['conservation_samples']") samples of conservation"

head -n 20000 in.txt >some.txt
"$peal" run -i some.txt -o out.txt --json --verify 'crc32c ! invert ! invert ! crc32c' \
    >out.json 2>err.txt || fail 'peal run --verify'
cmp some.txt out.txt || fail 'the output is not the input'
holds out.json "d['verified'] is True" "d['format'] == 'lines'" \
    "len(d['checksums']) == 2 and all(c['matches'] for c in d['checksums'])" \
    "d['checksums'][0]['crc_sum'] == d['checksums'][1]['crc_sum']"
says 'verified, checksums match'

# Every stage gives equal results for any number of lanes.
head -c 1048576 in.txt >in.bin
for lanes in 1 4 32; do
    "$peal" run --format records:16384 -i in.bin --json --verify --lanes $lanes \
        'crc32c ! xor:key=7 ! invert ! affine:a=3,b=1 ! sqrt ! crc32c' >out.json 2>err.txt ||
        fail "$lanes lanes"
    holds out.json "d['verified'] is True" "all(c['matches'] for c in d['checksums'])"
done
says '1, 4 and 32 lanes: verified, checksums match'

# Records, also of floats, are compared bit for bit.
python3 -c '
import random, sys
sys.stdout.buffer.write(random.Random(4).randbytes(4096 * 64))' >in.bin
"$peal" run --format records:4096 -i in.bin -o out.bin 'xor ! xor' >/dev/null 2>err.txt ||
    fail 'records'
cmp in.bin out.bin || fail 'records: the output is not the input'
"$peal" run --format records:64 -i in.bin --json --verify \
    'affine:a=0.5,b=-3 ! sqrt ! affine:a=2' >out.json 2>err.txt || fail 'records of floats'
holds out.json "d['verified'] is True" "d['items'] == 4096"
says 'records verified'

# A live pipe gets each line at once, not together with the next line.
mkfifo live
"$peal" run -i live -o - 'xor ! xor' >live.txt 2>err.txt &
run=$!
exec 3>live
printf 'first\n' >&3
for _ in $(seq 100); do
    [ ! -s live.txt ] || break
    sleep 0.05
done
[ "$(cat live.txt)" = first ] || fail 'the first line waits for the second'
printf 'second\n' >&3
exec 3>&-
wait $run || fail 'peal run of a live pipe'
[ "$(cat live.txt)" = $'first\nsecond' ] || fail 'the lines of a live pipe'
says 'a live pipe is flushed'

# An empty input is no failure.
"$peal" run -i /dev/null -o empty.txt --verify --json xor >out.json 2>err.txt || fail 'no lines'
holds out.json "d['items'] == 0 and d['verified'] is True" "d['latency_ns_max'] is None"
[ ! -s empty.txt ] || fail 'output without input'
says 'no lines, no messages'
