# SPDX-License-Identifier: Apache-2.0
# Sourced by the checks that are bash. $1 of a check is the tree to look at.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "${1-$here/../..}" && pwd)
failures=0

fail() {
    printf 'FAIL: %s\n' "$*"
    failures=$((failures + 1))
}

# finish WHAT: the closing line and the exit status.
finish() {
    if [ "$failures" -gt 0 ]; then
        printf '%s: %d failed\n' "$1" "$failures"
        exit 1
    fi
    printf '%s: ok\n' "$1"
    exit 0
}
