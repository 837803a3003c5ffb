#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that ./dev refuses a wrong argument by one line and the usage line. It does
# so before it looks for packages or builds. Pretend tools stand for dpkg, apt and CMake.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source_dir=$(cd "$here/../.." && pwd)
[ -x "$source_dir/dev" ] || skip "there is no $source_dir/dev"

# In a tree of their own: a faulty `clean` would remove the folders of this build.
mkdir -p tree/build tree/tests/fuzz tools
touch tree/tests/fuzz/target_{pipeline,y4m}.c
cp "$source_dir/tests/fuzz/run.py" tree/tests/fuzz/
cp "$source_dir/dev" tree/dev
cp "$source_dir/tests/under_load.sh" tree/tests/
dev=$PWD/tree/dev
# tool NAME TEXT...: a program that notes its call and runs the lines.
tool() {
    printf '%s\n' '#!/bin/sh' "echo $1 \"\$@\" >>'$work/calls.txt'" "${@:2}" >"tools/$1"
    chmod +x "tools/$1"
}
tool dpkg-query
tool apt-get
tool sudo 'exec "$@"'
tool ninja
tool ctest
tool cmake "echo '-- images of programs: host sm_90'" \
    "echo '-- no image for gfx90a: clang is not installed'"
export PATH=$work/tools:$PATH

# misused USAGE TEXT ARGUMENT...: fails unless stderr is the text and the usage, and
# no tool was called.
misused() {
    local usage=$1
    : >calls.txt
    refuses 2 "^dev: ${2%%:*}: " "$dev" "${@:3}"
    [ ! -s stdout.txt ] || fail "stdout: $*"
    [ "$(wc -l <err.txt)" = 2 ] || fail "not two lines: ${*:3}"
    [ "$(sed -n 1p err.txt)" = "dev: $2" ] || fail "not '$2': ${*:3}"
    [ "$(sed -n 2p err.txt)" = "usage: ./dev $usage" ] || fail "no usage line: ${*:3}"
    [[ $2 =~ ^[a-z]+\ \'.*\':\ .+\ \(.+,\ allowed\ .+\)\;\ .+$ ]] || fail "form of '$2'"
    [ ! -s calls.txt ] || fail "called before the refusal: $(cat calls.txt): ${*:3}"
}

form='build [--targets LIST]'
image="option '--targets': names no target of a device image"
names='allowed native, all, host, compute_NN, sm_NN, gfxNNN); use --targets sm_90,gfx90a'
misused "$form" "$image (none, $names" build --targets
for wrong in sm90 ';' , ' ' '*' 'sm_90,' ',sm_90' 'sm_90;gfx90a' 'sm_90 gfx90a' 'sm_90,,host'; do
    misused "$form" "$image ($wrong, $names" build --targets "$wrong"
done
known='is not known to ./dev'
misused "$form" "argument '--wrong': $known build (--wrong, allowed --targets LIST); use ./dev help" \
    build --wrong
misused "$form" "argument 'more': $known build (more, allowed --targets LIST); use ./dev help" \
    build --targets host more

misused 'run [FILE]' "argument 'b': follows FILE (2 files, allowed 0..1); give one FILE" run a b
misused 'run [FILE]' "file 'none': cannot be read (none, allowed a file); use a .y4m file" run none
misused 'run [FILE]' "file 'tools': cannot be read (tools, allowed a file); use a .y4m file" \
    run "tools"

form='stress [--seconds N]'
for wrong in none -1 1.5 5s; do
    misused "$form" "option '--seconds': is no whole number ($wrong, allowed 1..9999);$(
        ) use --seconds 60" stress --seconds "${wrong#none}"
done
for wrong in 0 10000 99999; do
    misused "$form" "option '--seconds': is out of range ($wrong, allowed 1..9999);$(
        ) use --seconds 60" stress --seconds "$wrong"
done
misused "$form" "argument 'more': $known stress (more, allowed --seconds N); use ./dev help" \
    stress --seconds 5 more

form='fuzz [--seconds N] [TARGET...]'
misused "$form" "option '--seconds': is out of range (0, allowed 1..9999); use --seconds 60" \
    fuzz --seconds 0 pipeline
misused "$form" "argument '-x': $known fuzz (-x, allowed --seconds N, TARGET...); use ./dev help" \
    fuzz pipeline -x
for wrong in none pipelin 'pipeline y4m' ../fuzz/target_y4m .; do
    misused "$form" "target '${wrong#none}': does not exist ($wrong, allowed a <name> of$(
        ) tests/fuzz/target_<name>.c); see tests/fuzz/README.md" fuzz y4m "${wrong#none}"
done

form='test [--preset NAME] [--all | --slice K/N] [CTEST ARGUMENTS]'
for wrong in none foo asan2 release/../..; do
    misused "$form" "option '--preset': names no preset ($wrong, allowed release, debug, asan,$(
        ) tsan); use --preset asan" test --preset "${wrong#none}"
done
for wrong in none 0/10 11/10 0/0 1 1/ /1 -1/3 1/10/2 a/b 1/99999; do
    misused "$form" "option '--slice': is no part of tier 2 ($wrong, allowed K/N with$(
        ) 1 <= K <= N <= 9999); use --slice 3/10" test --slice "${wrong#none}"
done
for option in -R -L -E -j --timeout; do
    misused "$form" "option '$option': has no value (none, allowed one value); use $option VALUE" \
        test "$option"
    misused "$form" "option '$option': has no value (-V, allowed one value); use $option VALUE" \
        test "$option" -V
done
for option in --tier -X --targets; do
    misused "$form" "option '$option': $(
        )is known neither to ./dev test nor to CTest ($option, allowed --preset, --all, --slice$(
        ) or an option of CTest); use -R REGEX" test "$option" 2
done
misused "$form" "argument 'link': is no option (link, allowed an option of CTest); use -R link" \
    test link
misused "$form" "argument 'b': is no option (b, allowed an option of CTest); use -R b" test -R a b
misused "$form" "option '--slice': excludes --all (--all --slice, allowed one of --all,$(
    ) --slice K/N); use one of them" test --all --slice 1/2

form='bench [--gpu | --queues | --counts | --ptx] [ARGUMENTS]'
misused "$form" "argument '--x': $known bench (--x, allowed --turns); use ./dev help" \
    bench --counts --x
misused "$form" "argument '--x': $known bench (--x, allowed no argument); use ./dev help" \
    bench --ptx --x
misused "$form" "argument '--x': $known bench (--x, allowed --seconds --out); use ./dev help" \
    bench --gpu --x
misused "$form" "option '--seconds': is out of range (0, allowed 1..9999); use --seconds 60" \
    bench --gpu --seconds 0
misused "$form" "option '--out': has no value (none, allowed one value); use --out VALUE" \
    bench --gpu --out
misused "$form" "option '--json': has no FILE (none, allowed a file); use --json rows.json" \
    bench --queues --json

all="latency, throughput, stream, echo, request, actors, tells, moves, barrier, idle, setup, $(
    )queues, faults, collectives, transfers, balance, work, tasks"
misused "$form" "argument 'fly': is no benchmark (fly, allowed $all); use latency" bench latency fly
long='--bytes, --help, --hgrm-out, --json, --route, --samples-out, --seconds, --usage, --version'
misused "$form" "argument '--wrong': $known bench (--wrong, allowed $long); use ./dev help" \
    bench latency --wrong
for option in --seconds -b --route --samples-out; do
    misused "$form" "option '$option': has no value (none, allowed one value); use $option VALUE" \
        bench latency "$option"
done
misused "$form" "option '--bytes': is out of range (0, allowed a number above 0);$(
    ) use --bytes 48" bench latency --bytes 0
for wrong in x -1 1e; do
    misused "$form" "option '--seconds': is no number ($wrong, allowed a number$(
        ) above 0); use --seconds 48" bench latency "--seconds=$wrong"
done
misused "$form" "option '-r': names no route (road, allowed local, peer, mapped-host, staged);$(
    ) use -r peer" bench latency -r road
misused "$form" "option '--what': is only for queues (--what, allowed the benchmark queues);$(
    ) use ./dev bench queues --what" bench latency --what share
misused "$form" "argument 'idle': follows option --seconds (idle, allowed benchmarks before$(
    ) options); use ./dev bench idle --seconds" bench latency --seconds 1 idle
misused "$form" "option '--bytes': follows no benchmark (--bytes, allowed a benchmark before$(
    ) options); use ./dev bench latency --bytes" bench --bytes 48
misused "$form" "argument 'fly': is no benchmark (fly, allowed $all); use latency" bench --queues fly

form='ptx [--weak] [--race] [--undefined] [--trace] [--count] [--seed N] [--lanes N] [--stall N] COMMAND...'
for option in 'seed 9999' 'lanes 1024' 'stall 3600'; do
    misused "$form" "option '--${option% *}': is no whole number (x, allowed 1..${option#* });$(
        ) use --${option% *} 60" ptx "--${option% *}" x build/peal
done
misused "$form" "option '--lanes': is out of range (1025, allowed 1..1024); use --lanes 60" \
    ptx --weak --lanes 1025 build/peal
misused "$form" "option '--stall': is out of range (3601, allowed 1..3600); use --stall 60" \
    ptx --stall 3601 build/peal
misused "$form" "argument '--slow': $known ptx (--slow, allowed ${form#ptx });$(
    ) use ./dev help" ptx --slow build/peal
misused "$form" "argument 'COMMAND': is missing (none, allowed a command); use ./dev ptx build/peal info" ptx

for command in docs format clean; do
    misused "$command" "argument '--help': $known $command (--help, allowed no argument);$(
        ) use ./dev help" "$command" --help
done
[ -d tree/build ] || fail './dev clean --help has removed the build folder'
misused 'COMMAND [ARGUMENTS]' "command 'tset': does not exist (tset, allowed build, run, test,$(
    ) stress, fuzz, bench, ptx, docs, format, clean, help); use ./dev help" tset

# ---- under_load.sh ---------------------------------------------------------------
# overload TEXT ARGUMENT...: the text and the usage, and no run.
overload() {
    : >calls.txt
    refuses 2 "^${1%%:*}: " tree/tests/under_load.sh "${@:2}"
    [ "$(cat err.txt)" = "$1"$'\n'"usage: tests/under_load.sh [RUNS [BUSY]]" ] || fail "not '$1'"
    [ ! -s stdout.txt ] && [ ! -s calls.txt ] || fail "under_load.sh has begun: $1"
}
number="is no number (0, allowed 1..9999); use tests/under_load.sh 10 4"
overload "argument 'RUNS': $number" 0
overload "argument 'BUSY': $number" 1 0
overload "argument '3': follows BUSY (3 arguments, allowed 0..2); leave it out" 1 2 3
rmdir tree/build
touch tree/build
overload "folder 'build': is no folder (a file, allowed a folder or nothing); remove it" 1 1
rm tree/build
mkdir tree/build

# ---- right arguments reach the tools ---------------------------------------------
: >calls.txt
printf '#!/bin/sh\n' >tree/build/peal
chmod +x tree/build/peal
"$dev" build --targets sm_90,gfx90a >out.txt 2>err.txt || fail './dev build --targets'
grep -q -- '^cmake .*-DPEAL_TARGETS=sm_90;gfx90a' calls.txt || fail 'no targets for CMake'
grep -qx 'dev: images of programs: host sm_90' err.txt || fail 'no line of the images'
grep -qx 'dev: no image for gfx90a: clang is not installed' err.txt || fail 'no line of gfx90a'
grep -q '^apt-get install .*ninja-build' calls.txt || fail 'no package installed'
! grep -q 'ccache' calls.txt || fail './dev build installs the packages of tests'
printf '#!/bin/sh\necho run.py "$@"\n' >tools/python3
chmod +x tools/python3
"$dev" test -R link --preset debug --show-only=json-v1 >out.txt 2>err.txt || fail './dev test'
[ "$(cat out.txt)" = 'run.py tests/run.py build-debug --tier 1 -- -R link --show-only=json-v1' ] ||
    fail "the arguments of run.py: $(cat out.txt)"
grep -q '^apt-get install .* ccache ' calls.txt || fail './dev test does not install ccache'
"$dev" test --slice 03/10 >out.txt 2>err.txt || fail './dev test --slice'
[ "$(cat out.txt)" = "$(printf 'run.py tests/run.py build%s --slice 03/10 --\n' '' -asan -tsan)" ] ||
    fail "the runs of a slice: $(cat out.txt)"
printf '#!/bin/sh\nenv\n' >tree/build/peal
"$dev" ptx --weak --seed 7 --lanes 8 build/peal >out.txt 2>err.txt || fail './dev ptx'
for setting in PEAL_DOUBLE_{ENGINE=ptx,WEAK=1,SEED=7,LANES=8} PEAL_BACKENDS=cuda; do
    grep -qx "$setting" out.txt || fail "./dev ptx does not set $setting"
done
! grep -q PEAL_DOUBLE_RACE out.txt || fail './dev ptx sets an option that is not given'
grep -q '^cmake --build build --target double_cuda double_nvrtc_ptx peal_cli' calls.txt ||
    fail './dev ptx does not build the PTX machine and the command'
"$dev" fuzz --seconds 7 y4m >out.txt 2>err.txt || fail './dev fuzz'
grep -q '^cmake .*--preset fuzz' calls.txt || fail './dev fuzz does not configure'
grep -q '^cmake --build build-fuzz --target peal_fuzz' calls.txt || fail './dev fuzz does not build'
grep -q '^apt-get install .* libclang-rt-dev' calls.txt || fail './dev fuzz installs no library'
[ "$(cat out.txt)" = 'run.py tests/fuzz/run.py 7 build-fuzz y4m' ] ||
    fail "the arguments of fuzz/run.py: $(cat out.txt)"
# ./dev knows each benchmark and each option of `peal bench`.
if "$peal" bench --help >bench.txt 2>/dev/null; then
    names=$(sed -n '/^Benchmarks:/,/^$/s/^  \([a-z]*\) .*/\1/p' bench.txt)
    # shellcheck disable=SC2086
    [ "$(wc -w <<<"$names")" = 18 ] && "$dev" bench $names -j >out.txt 2>err.txt ||
        fail "a benchmark is refused: $(cat err.txt)"
    "$peal" bench queues --help | grep -oE -- '^ .*--[a-z-]+=?' | grep -oE -- '-([A-Za-z?],|-[a-z-]+=?)' |
        tr -d , | grep -vx -- '-?' >options.txt
    [ "$(wc -l <options.txt)" -ge 20 ] || fail "options: $(cat options.txt)"
    options=()
    while read -r option; do
        case $option in
        --route=) options+=(--route=peer) ;;
        *=) options+=("${option}1") ;;
        -[fV] | --*) options+=("$option") ;;
        -r) options+=(-r peer) ;;
        *) options+=("$option" 1) ;;
        esac
    done <options.txt
    "$dev" bench queues "${options[@]}" >out.txt 2>err.txt || fail "refused: $(cat err.txt)"
fi
"$dev" help >out.txt || fail './dev help'
grep -q '  stress \[--seconds N\]' out.txt || fail 'no help'
