#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the slices of tests/run.py share the tests of tier 2. The commit selects
# the slice of .ci/run and its build. Small tests and a pretend git and ./dev stand for
# the real ones.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source_dir=$(cd "$here/../.." && pwd)
command -v ctest >/dev/null || skip 'ctest is not installed'

# ---- run.py: 7 tests of tier 1, 23 of tier 2 and 2 sweeps ------------------------
mkdir folder
unset PEAL_TEST_SLICE # run.py sets it for this test in a slice
# add NAME LABELS: a test that writes its name and the slice of its points.
add() {
    printf 'add_test("%s" "sh" "-c" "echo %s $PEAL_TEST_SLICE >>%s/ran.txt")\n' "$1" "$1" "$work"
    printf 'set_tests_properties("%s" PROPERTIES LABELS "%s")\n' "$1" "$2"
}
{
    for i in $(seq 23); do
        [ "$i" -gt 7 ] || add "base/first_$i" fast
        add "double/second_$i" 'fast;tier2'
        [ "$i" -gt 2 ] || add "double/sweep_$i" 'tier2;sweep'
    done
} >folder/CTestTestfile.cmake

# ran ARGUMENT...: the lines of the tests that run.py runs, sorted.
ran() {
    : >ran.txt
    python3 "$source_dir/tests/run.py" folder "$@" >run.txt 2>&1 || {
        cat run.txt >&2
        return 1
    }
    sort ran.txt
}
second=$(for i in $(seq 23); do echo "double/second_$i"; done | sort)
for parts in 1 3 10; do
    all='' sizes=''
    for part in $(seq "$parts"); do
        lines=$(ran --slice "$part/$parts") || fail "slice $part/$parts"
        [ "$(grep sweep_ <<<"$lines")" = "double/sweep_1 $part/$parts"$'\n'"double/sweep_2 $part/$parts" ] ||
            fail "slice $part/$parts: not its points of each sweep: $lines"
        some=$(grep second_ <<<"$lines" | cut -d' ' -f1)
        ! grep base/ <<<"$lines" || fail "slice $part/$parts runs tests of tier 1"
        all+=$some$'\n'
        sizes+=$(wc -l <<<"$some")$'\n'
    done
    # each test once: the slices are disjoint and together complete
    [ "$(sort <<<"${all%$'\n'}")" = "$second" ] || fail "$parts slices do not share tier 2: $all"
    sizes=$(printf %s "$sizes" | sort -n)
    [ $(($(tail -1 <<<"$sizes") - $(head -1 <<<"$sizes"))) -le 1 ] || fail "sizes: $sizes"
    says "$parts slices: each test of tier 2 once"
done
[ "$(ran --tier 1)" = "$(for i in $(seq 7); do echo "base/first_$i"; done)" ] || fail 'tier 1'
[ "$(ran | wc -l)" = 32 ] || fail 'no tier: not all tests'
[ "$(ran --slice 2/10 -- -R second_ | wc -l)" -ge 2 ] || fail 'a slice and -R'
! ran --slice 2/10 -- -R first_ >/dev/null 2>&1 || fail 'an empty slice passes'
grep -q "slice 2/10: has no test that matches" run.txt || fail 'the text of an empty slice'
refuses 2 "slice '0/10': is no K/N" python3 "$source_dir/tests/run.py" folder --slice 0/10

# ---- .ci/run ---------------------------------------------------------------------
mkdir -p tree/.ci tools
[ -f "$source_dir/.ci/run" ] || skip "there is no $source_dir/.ci/run"
cp "$source_dir/.ci/run" tree/.ci/run
printf '#!/bin/sh\necho "$@" >>calls.txt\n[ "$*" != "$FAIL" ]\n' >tree/dev
printf '#!/bin/sh\n[ "$1" = rev-parse ] && echo "$COMMIT"\n' >tools/git
chmod +x tree/dev tools/git
export PATH=$work/tools:$PATH FAIL=

# slice COMMIT: the slice of .ci/run for that commit, and its build. Its other runs
# are fixed.
slice() {
    rm -f tree/calls.txt
    COMMIT=$1 timeout 20 tree/.ci/run >out.txt || fail ".ci/run at commit $1"
    [ "$(head -3 tree/calls.txt)" = $'test\ntest --preset asan\ntest --preset tsan' ] ||
        fail "not tier 1 in three builds: $(cat tree/calls.txt)"
    [ "$(wc -l <tree/calls.txt)" = 4 ] || fail "not four runs: $(cat tree/calls.txt)"
    sed -nE '4s/^test --preset (\S+) --slice (\S+)$/\2 \1/p' tree/calls.txt >slice.txt
    grep -qx "== slice $(cut -d' ' -f1 slice.txt) of tier 2 in the build $(
        )$(cut -d' ' -f2 slice.txt), by commit $1" out.txt || fail "slice not printed"
    cat slice.txt
}
[ "$(slice 0000000)" = '1/10 release' ] || fail "slice of commit 0: $(cat slice.txt)"
[ "$(slice 00000ff)" = '6/10 asan' ] || fail "slice of commit ff, 255: $(cat slice.txt)"
[ "$(slice fffffff)" = '6/10 asan' ] || fail "slice of commit fffffff: $(cat slice.txt)"
[ "$(slice fffffff)" = '6/10 asan' ] || fail 'another slice of one commit'
slices=$(for i in $(seq 0 29); do slice "$(printf 'abcd%03x' "$i")"; done | sort -t/ -n)
all=$(for i in $(seq 10); do printf "$i/10 %s\n" asan release tsan; done)
[ "$slices" = "$all" ] || fail "not all slices: $slices"
for FAIL in test 'test --preset asan' 'test --preset tsan' 'test --preset release --slice 1/10'; do
    rm -f tree/calls.txt
    ! COMMIT=0000000 timeout 20 tree/.ci/run >out.txt || fail ".ci/run passes over ./dev $FAIL"
    [ "$(tail -1 tree/calls.txt)" = "$FAIL" ] || fail ".ci/run goes on after ./dev $FAIL"
done
says 'the commit selects the slice'
