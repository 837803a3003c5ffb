# SPDX-License-Identifier: Apache-2.0
# Sourced by the checks in bash. $1 of a check is the tree.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "${1-$here/../..}" && pwd)
failures=0

fail() {
    printf 'FAIL: %s\n' "$*"
    failures=$((failures + 1))
}

# finish NAME: prints the closing line and ends with the exit status.
finish() {
    if [ "$failures" -gt 0 ]; then
        printf '%s: %d failed\n' "$1" "$failures"
        exit 1
    fi
    printf '%s: ok\n' "$1"
    exit 0
}
