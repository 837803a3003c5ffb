#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# peal-cc of an installed Peal compiles kernel sources for a Makefile. The program
# runs on emulated devices, from its images and from its text. The install changes
# the prefix.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
for tool in make pkg-config; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix"
export PEAL_CACHE_DIR=$work/cache
unset PEAL_HOST_DEVICES PEAL_PROBE PEAL_LOG CC CXX NVCC HIP_CLANG CFLAGS MAKEFLAGS

step() { printf '== %s\n' "$*"; }
fail() { echo "FAIL: $*"; exit 1; }

step "install into $prefix"
cmake --install "$PEAL_BUILD_DIR" --prefix "$prefix" >"$work/install.log"
for file in bin/peal-cc share/man/man1/peal-cc.1 share/man/man1/peal-run.1 \
    share/man/man7/peal-environment.7 share/doc/peal/README.md share/doc/peal/guide.md; do
    [ -e "$prefix/$file" ] || fail "not installed: $file"
done
sed -n 's/.*](\([a-z]*\.md\)).*/\1/p' "$prefix/share/doc/peal/README.md" | while read -r link; do
    [ -e "$prefix/share/doc/peal/$link" ] || fail "README.md names $link, which is not installed"
done
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name peal.pc)")
export PKG_CONFIG_PATH
peal_cc=$(pkg-config --variable=peal_cc peal)
[ "$peal_cc" = "$prefix/bin/peal-cc" ] || fail "pkg-config names $peal_cc"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir peal)
export LD_LIBRARY_PATH

mkdir -p "$work/project/inc/own"
cd "$work/project"
cp "$PEAL_SOURCE_DIR/examples/custom_kernel/"{scale.c,main.c,main_cxx.cpp} .
# main.c exports its symbols: doubles of drivers look for programs there.
cat >Makefile <<'END'
PEAL_CC := $(shell pkg-config --variable=peal_cc peal)
CFLAGS = -O2 -Wall -Wextra -Werror
LDLIBS = $(shell pkg-config --libs peal)
LDFLAGS = -rdynamic

app: main.o scale.o
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
main.o: CFLAGS += $(shell pkg-config --cflags peal)
scale.o: scale.c
	"$(PEAL_CC)" $(CFLAGS) $(PEAL_CC_FLAGS) -Iinc -MMD -o $@ $<
-include scale.d
END

step 'make, with a prefix that has a space'
make >make.log 2>&1 || { cat make.log; fail 'make fails'; }
./app
make | grep -q 'is up to date' || fail 'make builds again'
nm scale.o >symbols
for name in peal_program_scaler peal_entry_scaler peal_entry_scaler_single_needs_peal_cc_or_peal_add_program; do
    grep -q " $name\$" symbols || fail "scale.o has no $name"
done

step 'text on doubles of NVRTC and hipRTC, which look for each header by its name'
rtc=$PEAL_BUILD_DIR/tests/fault/whole
sed -i 's|^#include <peal/device/kernel.h>|&\n#include "own/a.h"\n#include "with range_alloc.h"|' scale.c
printf '#include "b.h"\n' >inc/own/a.h
printf '/* first text of b */\n' >inc/own/b.h
printf '#ifdef __CUDACC__\n#include "own/b.h"\n#endif\n' >'with range_alloc.h'
make PEAL_CC_FLAGS='-DPLANTED=7 -U OTHER' >make.log 2>&1 || { cat make.log; fail 'make fails'; }
./app
app=./app
on_double() { # VENDOR [VARIABLE...]
    env LD_LIBRARY_PATH="$PEAL_BUILD_DIR/doubles/$1:$rtc:$LD_LIBRARY_PATH" PEAL_BACKENDS="$1" \
        "${@:2}" "$app" >"$1.log" 2>&1 || { cat "$1.log"; fail "on a double of $1"; }
}
shared=$(find "$prefix" -name 'libpeal.so*')
for vendor in cuda hip; do # doubles need a static libpeal
    [ -z "$shared" ] && [ -d "$PEAL_BUILD_DIR/doubles/$vendor" ] && [ -d "$rtc" ] || continue
    on_double $vendor
done
for text in '#define PLANTED 7' '#undef OTHER' 'first text of b'; do
    grep -aqF "$text" app || fail "not in the text: $text"
done

step 'a changed header'
sleep 1
printf '/* second text of b */\n' >inc/own/b.h
make >make.log 2>&1 || { cat make.log; fail 'make fails'; }
grep -aqF 'second text of b' app || fail 'the header has changed, and make built nothing'

step 'C++, several sources, no text'
sed 's/scaler/second/g' scale.c >second.cc
sed 's/scaler/third/g' scale.c >third.c
"$peal_cc" -Iinc --no-text second.cc third.c -o two.o
nm two.o >symbols
for name in peal_program_second peal_entry_second_single_needs_peal_cc_or_peal_add_program peal_program_third; do
    grep -q " $name\$" symbols || fail "two.o has no $name"
done
if grep -q 'peal_cc_.*_text' symbols; then fail 'the text is embedded with --no-text'; fi
IFS=' ' read -r -a flags <<<"$(pkg-config --cflags peal | sed 's/\\ /\t/g')"
g++ -std=c++17 -c main_cxx.cpp -o main_cxx.o "${flags[@]//$'\t'/ }"
IFS=' ' read -r -a flags <<<"$(pkg-config --libs peal | sed 's/\\ /\t/g')"
g++ main_cxx.o scale.o two.o -o app_cxx "${flags[@]//$'\t'/ }"
./app_cxx

step 'images'
targets=
for target in compute_75 sm_90 gfx90a; do
    if [ "$("$peal_cc" --targets $target --print-targets 2>/dev/null)" = $target ]; then
        targets+=,$target
    fi
done
echo "targets: ${targets#,}"
if [ -n "$targets" ]; then
    touch scale.c
    make PEAL_CC_FLAGS="--targets ${targets#,} --no-text" >make.log 2>&1 ||
        { cat make.log; fail 'make fails'; }
    nm app >symbols
    for target in ${targets//,/ }; do
        grep -q " peal_cc_scale_c_.*_$target\$" symbols || fail "no image for $target"
    done
    ./app
    # run_on VENDOR ARCHITECTURE TARGET
    run_on() {
        [[ "$targets," == *",$3,"* && ! $shared && -d $PEAL_BUILD_DIR/doubles/$1 ]] || return 0
        echo "image of $3 on a double of $2"
        on_double "$1" PEAL_DOUBLE_ARCH="$2"
    }
    run_on cuda sm_90 sm_90
    run_on cuda sm_75 compute_75
    run_on hip gfx90a gfx90a
fi

step 'GPUs of this machine, by pretend tools'
mkdir tools
printf '#!/bin/sh\nprintf "8.9\\n9.0\\n9.0\\n"\n' >tools/nvidia-smi
printf '#!/bin/sh\nprintf "  Name: gfx90a\\n  Name: AMD EPYC\\n"\n' >tools/rocminfo
printf '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" != -o ] || : >"$2"; shift; done\n' >tools/compiler
printf '#!/bin/sh\ncase $1 in --print-targets) echo amdgcn;; *) exec "$0/../compiler" "$@";; esac\n' >tools/clang
sed -i "s|\$0/../compiler|$PWD/tools/compiler|" tools/clang
cp tools/compiler tools/ld.lld
chmod +x tools/*
# native EXPECTED [VARIABLE=VALUE...]
native() {
    local got
    got=$(env PATH="$PWD/tools:$PATH" NVCC="$PWD/tools/compiler" HIP_CLANG="$PWD/tools/clang" "${@:2}" \
        "$peal_cc" --print-targets 2>errors | tr '\n' ' ')
    [ "$got" = "$1" ] || { cat errors; fail "native is '$got', expected '$1'"; }
}
native 'sm_89 sm_90 gfx90a '
native 'gfx90a ' NVCC=/nonexistent/nvcc
grep -q 'no image for sm_89: ' errors || { cat errors; fail 'no word about sm_89'; }

step 'wrong usage'
# refuses STATUS TEXT ARGUMENT...
refuses() {
    local status=0
    "$peal_cc" "${@:3}" >out 2>errors || status=$?
    [ $status = "$1" ] || { cat errors; fail "exit status $status: ${*:3}"; }
    tr '\n' ' ' <errors | grep -qF -- "$2" || { cat errors; fail "not '$2': ${*:3}"; }
}
refuses 2 "target 'sm90': is no target of a device image" --targets sm90 scale.c
for wrong in '' , ' '; do
    refuses 2 "('$wrong', allowed native, all, host" --targets "$wrong" scale.c
done
refuses 1 "target 'sm_1': " --targets sm_1 scale.c
refuses 2 'a source is missing'
refuses 2 'several sources need --output' scale.c third.c
refuses 2 "file 'main.o': is no .c, .cc, .cpp or .cxx file" main.o
refuses 2 "option '--planted': does not exist" --planted scale.c
refuses 2 "option '-o': has no value" scale.c -o
refuses 1 "source 'gone.c': cannot be read" gone.c
printf '#include "gone.h"\n' >no_header.c
refuses 1 'gone.h' no_header.c
mkdir own
printf '/* another */\n' >own/a.h
printf '#include <own/a.h>\n' >inc/d.h
printf '#include "own/a.h"\n#include "d.h"\n' >both.c
refuses 1 '"own/a.h" means both' -Iinc both.c
[ ! -e both.o ] || fail 'both.o is there'
"$peal_cc" --version | grep -q '^peal-cc [0-9]' || fail 'no version'

step 'the command that probes GPUs, in the changed prefix'
if [ -x "$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$PEAL_BUILD_DIR/CMakeCache.txt")/bin/peal" ] ||
    [ "$shared" ] || [ ! -d "$rtc" ] || [ ! -x "$prefix/bin/peal" ]; then
    echo 'skipped: a command is installed, or there is no double'
else
    mv "$prefix/bin/peal" "$prefix/bin/real"
    printf '#!/bin/sh\necho "$1" >>"%s/called"\nexec "%s/bin/real" "$@"\n' "$work" "$prefix" >"$prefix/bin/peal"
    chmod +x "$prefix/bin/peal"
    app=$prefix/bin/app # a static libpeal is in the program
    touch scale.c # with the text again
    make >make.log 2>&1 || { cat make.log; fail 'make fails'; }
    cp ./app "$app"
    on_double cuda PEAL_DOUBLE_DEVICES=2 PEAL_CACHE_DIR="$work/fresh"
    [ "$(cat "$work/called" 2>/dev/null)" = probe ] || { cat cuda.log; fail 'the command was not called'; }
fi
echo ok
