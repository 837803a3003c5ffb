# SPDX-License-Identifier: Apache-2.0
# Sourced by the shell tests of the command. Makes a folder, finds the command
# and defines helpers.
set -euo pipefail

peal=${PEAL:?names the command}
build=${PEAL_BUILD_DIR:?names the build folder}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PEAL_CACHE_DIR=$work/cache
unset PEAL_HOST_DEVICES PEAL_HOST_LINKS PEAL_PROBE PEAL_LOG PEAL_LEASE_MS PEAL_CONTROL_TIMEOUT_MS PEAL_HOST_PIN
make_clip=$build/examples/make_clip

# devices N: sets the number of devices. On a GPU they are its parts.
devices() {
    export PEAL_HOST_DEVICES=$1
    [ -z "${PEAL_TEST_GPU:-}" ] || export PEAL_GPU_SPLIT=$1
}
[ -z "${PEAL_TEST_GPU:-}" ] || export PEAL_GPU_SPLIT=2

skip() { printf 'skipped: %s\n' "$*"; exit 77; }
fail() {
    printf 'FAIL: %s\n' "$*"
    for log in out.json err.txt; do
        [ ! -s "$log" ] || { printf -- '---- %s\n' "$log"; head -c 4000 "$log"; }
    done
    exit 1
}
says() { printf '  %s\n' "$*"; }

[ -x "$peal" ] || skip "there is no $peal"
command -v python3 >/dev/null || skip 'python3 is not installed'

# sanitized: succeeds if the build has a sanitizer and is many times slower.
sanitized() { grep -q '^PEAL_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt" 2>/dev/null; }

# get FILE EXPRESSION: evaluates a Python expression on the JSON object d.
get() {
    python3 - "$@" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))
END
}

# holds FILE EXPRESSION...: fails unless each expression is true for the JSON
# object d.
holds() {
    local log
    log=$(python3 - "$@" 2>&1 <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit(expression)
END
    ) || fail "not so in $1: $log"
}

# narrow FILE: fails if a line has more than 100 characters, or ends with a space.
narrow() {
    local wide
    wide=$(python3 - "$1" 2>&1 <<'END'
import sys
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    if len(line) > 100 or line != line.rstrip():
        sys.exit(f"{len(line)} characters: '{line}'")
END
    ) || fail "$1: $wide"
}

# refuses STATUS PATTERN COMMAND...: fails unless the command exits with STATUS
# and prints PATTERN on stderr.
refuses() {
    local status=$1 pattern=$2 got=0
    shift 2
    timeout 20 "$@" >stdout.txt 2>err.txt </dev/null || got=$?
    [ "$got" = "$status" ] || fail "exit status $got, not $status: $*"
    grep -Eq -- "$pattern" err.txt || fail "stderr does not match '$pattern': $*"
    says "refused: $pattern"
}
