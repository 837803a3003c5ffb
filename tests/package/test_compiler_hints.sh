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

# source_with LIST [STATEMENT]: writes a kernel source with this list of handlers.
source_with() {
    cat >scale.c <<END
#include <peal/device/kernel.h>
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
    local first language
    source_with "${@:2}"
    for language in c c++; do
        if cc -x $language -fsyntax-only -I"$PEAL_SOURCE_DIR/include" scale.c 2>log; then
            fail "no error for $2 ${3-}, in $language"
        fi
        first=$(grep -m1 'error' log)
        [[ $first == *"$1"* ]] || { cat log; fail "the first error has no '$1', in $language"; }
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

# A plain compiler makes one of two objects. The linker names the other one.
echo 'int main(void) { return 0; }' >main.c
if cc main.c scale.o -o app 2>log; then fail 'a plain object links'; fi
grep -q 'peal_entry_scaler_single_needs_peal_cc_or_peal_add_program' log ||
    { cat log; fail 'the linker does not name peal-cc'; }
