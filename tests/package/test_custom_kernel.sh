#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# An installed Peal serves a project of its own, by CMake and by pkg-config.
# PEAL_TEST_PACKAGE_TARGETS is the project's PEAL_TARGETS; unset: the default.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

step() { printf '== %s\n' "$*"; }

step "install into $prefix"
cmake --install "$PEAL_BUILD_DIR" --prefix "$prefix" >"$work/install.log" || {
    cat "$work/install.log"
    exit 1
}
for file in include/peal/peal.h bin/peal; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
"$prefix/bin/peal" --version

step 'a copy of examples/custom_kernel, outside the tree'
cp -a "$PEAL_SOURCE_DIR/examples/custom_kernel" "$work/project"
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
cmake "${generator[@]}" -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
    ${PEAL_TEST_PACKAGE_TARGETS:+"-DPEAL_TARGETS=$PEAL_TEST_PACKAGE_TARGETS"} \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_ENABLE_EXPORTS=ON >"$work/project.log"
cat "$work/project.log"
cmake --build "$work/build"

targets=$(sed -n 's/^-- images of programs: host//p' "$work/project.log")
step "its images: host$targets"
nm "$work/build/custom_kernel" >"$work/symbols"
for target in $targets; do
    grep -q " peal_images_scale_scale_c_$target\$" "$work/symbols" || {
        echo "no image for $target in custom_kernel"
        exit 1
    }
done

step 'its source, and that of the dialect'
# has PROGRAM TEXT: it is embedded; a fixed line of each file serves as TEXT.
has() {
    grep -aqF -- "$2" "$1" || { echo "not embedded in $1: $2"; exit 1; }
}
if grep -q 'peal_images_scale_scale_c_text$' "$work/symbols"; then
    has "$work/build/custom_kernel" 'float factor;'
    has "$work/build/custom_kernel" 'X(scale, sizeof(struct scale)'
elif grep -q '^PEAL_EMBED_SOURCES:BOOL=ON' "$PEAL_BUILD_DIR/CMakeCache.txt"; then
    echo 'custom_kernel has no text of its source'
    exit 1
fi

step 'a header of a program, by each of its names, and a changed one'
mkdir -p "$work/private/inc/own" "$work/private/with space"
cp "$work/project/scale.c" "$work/private/scale.c"
cp "$work/project/main.c" "$work/private"
sed -i 's|^#include <peal/device/kernel.h>|&\n#include "own/a.h"\n#include "with space/c.h"|' "$work/private/scale.c"
printf '#include "b.h"\n' >"$work/private/inc/own/a.h"
printf '/* first text of b */\n' >"$work/private/inc/own/b.h"
printf '#ifdef __CUDACC__\n#include "own/b.h"\n#else\n#include <stdio.h>\n#endif\n' >"$work/private/with space/c.h"
cat >"$work/private/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(private LANGUAGES C)
find_package(peal 0.2 REQUIRED)
target_include_directories(peal::peal INTERFACE ${PROJECT_SOURCE_DIR}/inc)
peal_add_program(scale SOURCES scale.c)
add_executable(app main.c)
target_link_libraries(app PRIVATE scale)
END
cmake "${generator[@]}" -S "$work/private" -B "$work/private/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DPEAL_CUDA=OFF -DPEAL_HIP=OFF >"$work/private.log"
cmake --build "$work/private/build" >>"$work/private.log" || { cat "$work/private.log"; exit 1; }
table=$work/private/build/peal_images/peal_images_scale_scale_c_text.c
for name in scale.c own/a.h b.h own/b.h 'with space/c.h'; do
    grep -qF "{ \"$name\", " "$table" || { cat "$table"; echo "no row for $name"; exit 1; }
done
has "$work/private/build/app" 'first text of b'
sleep 1
printf '/* second text of b */\n' >"$work/private/inc/own/b.h"
cmake --build "$work/private/build" >>"$work/private.log" || { cat "$work/private.log"; exit 1; }
has "$work/private/build/app" 'second text of b'
printf '#include "own/a.h"\n' >"$work/private/own_a.h"
mkdir "$work/private/own" && printf '/* another */\n' >"$work/private/own/a.h"
sed -i 's|^#include "own/a.h"|#include "own_a.h"|' "$work/private/inc/own/b.h"
printf '#include "own/a.h"\n#include "d.h"\n' >>"$work/private/scale.c"
printf '#include <own/a.h>\n' >"$work/private/inc/d.h"
if cmake --build "$work/private/build" >"$work/private.log" 2>&1; then
    echo 'one name for two headers is no error'
    exit 1
fi
grep -q 'means both' "$work/private.log"
"$work/private/build/app"
cmake "${generator[@]}" -S "$work/private" -B "$work/private/build" -DPEAL_EMBED_SOURCES=OFF >"$work/private.log"
cmake --build "$work/private/build" >>"$work/private.log" || { cat "$work/private.log"; exit 1; }
nm "$work/private/build/app" >"$work/symbols"
if grep -q ' peal_images_scale_scale_c_text$' "$work/symbols"; then
    echo 'the text is embedded with PEAL_EMBED_SOURCES=OFF'
    exit 1
fi

step 'run it in C'
"$work/build/custom_kernel"
# run_on BACKEND ARCHITECTURE TARGET: on the driver double, of that target's image.
run_on() {
    [[ "$targets " == *" $3 "* ]] || return 0
    step "run it on a double of $1, $2"
    LD_LIBRARY_PATH=$PEAL_BUILD_DIR/doubles/$1 PEAL_BACKENDS=$1 \
        PEAL_DOUBLE_ARCH=$2 "$work/build/custom_kernel"
}
run_on cuda sm_90 sm_90
run_on cuda sm_75 compute_75
run_on hip gfx90a gfx90a
step 'run it in C++'
"$work/build/custom_kernel_cxx"

step 'one source in two programs and in a plain library, in sibling folders'
mkdir -p "$work/many/a" "$work/many/b"
cp "$work/project/"{scale.c,main.c} "$work/many/a"
cat >"$work/many/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(many LANGUAGES C)
add_subdirectory(a)
add_subdirectory(b)
END
cat >"$work/many/a/CMakeLists.txt" <<'END'
find_package(peal 0.2 REQUIRED)
peal_add_program(first SOURCES scale.c)
peal_add_program(second SOURCES scale.c)
add_library(plain OBJECT scale.c)
target_link_libraries(plain PRIVATE peal::peal)
add_executable(many_a main.c)
target_link_libraries(many_a PRIVATE first)
END
cat >"$work/many/b/CMakeLists.txt" <<'END'
find_package(peal 0.2 REQUIRED)
peal_add_program(third SOURCES ../a/scale.c)
add_executable(many_b ../a/main.c)
target_link_libraries(many_b PRIVATE third)
END
cmake "${generator[@]}" -S "$work/many" -B "$work/many/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DPEAL_CUDA=OFF -DPEAL_TARGETS=gfx90a >"$work/many.log"
cmake --build "$work/many/build" >>"$work/many.log" || { cat "$work/many.log"; exit 1; }
nm "$work/many/build/a/many_a" >"$work/symbols_a"
nm "$work/many/build/b/many_b" >"$work/symbols_b"
if grep -q '^-- images of programs: host gfx90a' "$work/many.log"; then
    grep -q ' peal_images_first_.*_gfx90a$' "$work/symbols_a" &&
        grep -q ' peal_images_third_.*_gfx90a$' "$work/symbols_b" || {
        echo 'no image for gfx90a in many_a or many_b'
        exit 1
    }
fi
"$work/many/build/a/many_a"
"$work/many/build/b/many_b"
sed -i 's/first SOURCES scale.c/& TARGETS sm90/' "$work/many/a/CMakeLists.txt"
if cmake -S "$work/many" -B "$work/many/build" >"$work/many.log" 2>&1; then
    echo 'TARGETS sm90 is no error'
    exit 1
fi
grep -q "target 'sm90': is no target" "$work/many.log"

step 'a program in a file'
mkdir "$work/file"
cp "$work/project/scale.c" "$work/file"
sed 's|peal_kernel_launch(runtime, 0, &peal_program_scaler,|peal_program_load_file(runtime, FILE_PATH, \&program);\n\tif (!r)\n\t\tr = peal_kernel_launch(runtime, 0, program,|
     s|^PEAL_DECLARE_PROGRAM.*|static const struct peal_program *program;|' "$work/project/main.c" >"$work/file/main.c"
cat >"$work/file/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(file LANGUAGES C)
find_package(peal 0.2 REQUIRED)
peal_add_program(scale MODULE SOURCES scale.c)
add_executable(app main.c)
target_link_libraries(app PRIVATE peal::peal)
target_compile_definitions(app PRIVATE FILE_PATH="${CMAKE_INSTALL_PREFIX}/lib/scale.so")
set_target_properties(app PROPERTIES ENABLE_EXPORTS ON)
install(TARGETS scale LIBRARY DESTINATION lib)
END
cmake "${generator[@]}" -S "$work/file" -B "$work/file/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_INSTALL_PREFIX="$work/file/installed" -DPEAL_CUDA=OFF -DPEAL_HIP=OFF >"$work/file.log"
cmake --build "$work/file/build" >>"$work/file.log" || { cat "$work/file.log"; exit 1; }
if "$work/file/build/app"; then
    echo 'it ran without its file'
    exit 1
fi
cmake --install "$work/file/build" >>"$work/file.log" # which must not change it
"$work/file/build/app"

step 'pkg-config'
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name peal.pc)")
export PKG_CONFIG_PATH
pkg-config --exists --print-errors peal
cat >"$work/three.c" <<'END'
#include <peal/peal.h>
#include <stdio.h>
int main(void) { return puts(peal_error_name(PEAL_EINVAL)) < 0; }
END
read -r -a flags <<<"$(pkg-config --cflags --libs peal)"
gcc -std=c11 -Wall -Wextra -Werror "$work/three.c" -o "$work/three" "${flags[@]}"
libdir=$(pkg-config --variable=libdir peal)
[ "$(LD_LIBRARY_PATH=$libdir "$work/three")" = PEAL_EINVAL ] || {
    echo 'the program built by pkg-config did not print PEAL_EINVAL'
    exit 1
}
case $(pkg-config --cflags peal) in
*"$prefix/include"*) ;;
*) echo 'pkg-config does not name the prefix'; exit 1 ;;
esac
echo ok
