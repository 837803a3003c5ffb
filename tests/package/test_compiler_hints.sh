#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# Faults of kernel sources: the compiler or the linker names the fault and a remedy.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAIL: $*"; exit 1; }

# source_with LIST [STATEMENT]: writes a kernel source with this list of handlers. It
# begins with the lines in `first`, and has those in `late` behind its include.
first='' late=''
source_with() {
    cat >scale.c <<END
$first
#include <peal/device/kernel.h>
$late
#define HANDLERS(X) $1
PEAL_HANDLERS(HANDLERS);
static PEAL_DEV int scale(struct peal_worker *w)
{
	${2-}
	return peal_emit(w, 0, 0, 0, 0, 0);
}
PEAL_PROGRAM(scaler, HANDLERS);
END
}
# fault TEXT LIST [STATEMENT]: in C and in C++, the first error has TEXT.
fault() {
    local found language
    source_with "${@:2}"
    for language in c c++; do
        if cc -x $language -fsyntax-only -I"$PEAL_SOURCE_DIR/include" scale.c 2>log; then
            fail "no error for $2 ${3-}, in $language"
        fi
        found=$(grep -m1 'error' log)
        [[ $found == *"$1"* ]] || { cat log; fail "the first error has no '$1', in $language"; }
    done
}

sound='X(scale, 0, PEAL_EMITS(1, 1))'
source_with "$sound" 'if (PEAL_HANDLER(scale)) return 1;'
cc -c -I"$PEAL_SOURCE_DIR/include" scale.c -o scale.o
form='PEAL_PROGRAM: the list must be X(scale, state bytes, limits)'
fault "$form" 'X(scale, 0, PEAL_EMIT(1, 1))'
fault "$form" 'X(scale, PEAL_EMITS(1, 1))'
fault "$form" 'X(scale, 0, 1, 1)'
fault "$form" 'X(scale, 0)'
fault 'not_in_PEAL_HANDLERS_scael' "$sound" 'if (PEAL_HANDLER(scael)) return 1;'

# The features of the program.
first='#define PEAL_USES PEAL_USE_MAIL | PEAL_USE_TOPICS' # without parentheses
source_with 'X(scale, 0, PEAL_TELLS(1))' \
    'PEAL_STATIC_ASSERT(PEALI_USES(TOPICS) && PEALI_USES(MAIL), "both");'
cc -c -Werror -Wall -I"$PEAL_SOURCE_DIR/include" scale.c -o scale.o
first='#define PEAL_USES (PEAL_USE_ALL & ~PEAL_USE_MAIL & ~PEAL_USE_HOOKS)' # timers include mail
fault 'has hooks, and PEAL_USES lacks PEAL_USE_HOOKS' 'X(scale, 0, PEAL_WITH_HOOKS(PEAL_TELLS(1)))'
first='#define PEAL_USES PEAL_USE_TOPICS'
fault 'tells messages, and PEAL_USES lacks PEAL_USE_MAIL' 'X(scale, 0, PEAL_TELLS(1))'
first='#define PEAL_USES PEAL_USE_POOLS'
fault 'tells all actors, and PEAL_USES lacks PEAL_USE_MAIL' 'X(scale, 0, PEAL_TELLS(PEAL_TO_ALL | 1))'
first='#define PEAL_USES 0x10000'
fault 'PEAL_USES has an unknown bit' "$sound"
first='#define PEAL_USES_POOLS 1'
fault 'define PEAL_USES as PEAL_USE_ALL' "$sound"
first='' late=$'#undef PEAL_USES\n#define PEAL_USES PEAL_USE_ALL'
fault 'define PEAL_USES before the first include' "$sound"
late=''
source_with "$sound"
cc -c -I"$PEAL_SOURCE_DIR/include" scale.c -o scale.o

# A plain compiler makes one of two objects. The linker names the other one.
echo 'int main(void) { return 0; }' >main.c
if cc main.c scale.o -o app 2>log; then fail 'a plain object links'; fi
grep -q 'peal_entry_scaler_single_needs_peal_cc_or_peal_add_program' log ||
    { cat log; fail 'the linker does not name peal-cc'; }
