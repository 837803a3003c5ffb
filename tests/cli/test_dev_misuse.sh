#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that ./dev answers a wrong argument by one line and the usage line.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dev=$(cd "$here/../.." && pwd)/dev
[ -x "$dev" ] || skip "there is no $dev"

# misused USAGE PATTERN ARGUMENT...: fails unless stderr has these two lines.
misused() {
    local usage=$1
    refuses 2 "$2" "$dev" "${@:3}"
    [ ! -s stdout.txt ] || fail "stdout: $*"
    [ "$(wc -l <err.txt)" = 2 ] || fail "not two lines: ${*:3}"
    [ "$(sed -n 2p err.txt)" = "usage: ./dev $usage" ] || fail "no usage line: ${*:3}"
    grep -q '^dev: ' err.txt || fail "no error line: ${*:3}"
}
misused 'build [--targets LIST]' "'--targets': has no LIST" build --targets
misused 'build [--targets LIST]' "'--wrong': is not known" build --wrong
misused 'build [--targets LIST]' "'more': is not known" build --targets host more
misused 'run [FILE]' "'b': follows FILE" run a b
misused 'stress [--seconds N]' "'--seconds': is no whole number" stress --seconds
misused 'stress [--seconds N]' "no whole number from 1 on .'0'" stress --seconds 0
misused 'stress [--seconds N]' "'more': is not known" stress --seconds 5 more
# in a tree of their own: a faulty `clean` would remove the folders of this build
mkdir -p tree/build
cp "$dev" tree/dev
dev=$PWD/tree/dev
for command in docs format clean; do
    misused "$command" "'--help': is not known to ./dev $command" "$command" --help
done
[ -d tree/build ] || fail './dev clean --help has removed the build folder'
"$dev" help >out.txt || fail './dev help'
grep -q '  stress \[--seconds N\]' out.txt || fail 'no help'
