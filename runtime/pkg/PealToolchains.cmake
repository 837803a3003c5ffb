# SPDX-License-Identifier: Apache-2.0
#
# Libraries, warnings and sanitizers of Peal's own build. Not installed.
include_guard(GLOBAL)

# ---- compiler cache --------------------------------------------------------
# Paths are relative to the tree, so that its clones share objects.
find_program(PEAL_CCACHE ccache)
mark_as_advanced(PEAL_CCACHE)
if(PEAL_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 ${PEAL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

# ---- libraries -------------------------------------------------------------
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing. Debian: apt install pkg-config")
endif()

set(PEAL_DEPENDENCIES Threads::Threads)
set(missing "")
foreach(module liburing:liburing-dev ck:libck-dev jansson:libjansson-dev)
  string(REPLACE ":" ";" pair ${module})
  list(GET pair 0 name)
  list(GET pair 1 package)
  string(TOUPPER PEAL_${name} prefix)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${name})
  if(${prefix}_FOUND)
    list(APPEND PEAL_DEPENDENCIES PkgConfig::${prefix})
  else()
    string(APPEND missing " ${package}")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "libraries are missing. Debian: apt install${missing}")
endif()

# ---- warnings --------------------------------------------------------------
# A project that adds Peal as a sub-directory keeps its own flags.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(PEAL_C_WARNINGS
  -Wall -Wextra -Wshadow -Wundef -Wvla -Wpointer-arith -Wwrite-strings
  -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)

# ---- linker ----------------------------------------------------------------
# lld links in a tenth of the time of GNU's linker.
find_program(PEAL_FAST_LINKER ld.lld)
mark_as_advanced(PEAL_FAST_LINKER)
if(PEAL_FAST_LINKER AND PROJECT_IS_TOP_LEVEL)
  add_link_options(-fuse-ld=lld)
endif()

# ---- sanitizers ------------------------------------------------------------
set(PEAL_TEST_LAUNCHER "")
if(PEAL_SANITIZE)
  if(NOT PEAL_SANITIZE MATCHES "^(address,undefined|address|undefined|thread)$")
    message(FATAL_ERROR "PEAL_SANITIZE=${PEAL_SANITIZE}: say address,undefined or thread")
  endif()
  add_compile_options(-fsanitize=${PEAL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PEAL_SANITIZE})
  if(PEAL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
  if(PEAL_SANITIZE STREQUAL "thread")
    # ThreadSanitizer of older compilers crashes if the kernel randomises
    # addresses by more than 28 bits. The tests run under setarch -R then.
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
    check_c_source_runs("int main(void) { return 0; }" PEAL_TSAN_RUNS)
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT PEAL_TSAN_RUNS)
      find_program(PEAL_SETARCH setarch)
      if(NOT PEAL_SETARCH)
        message(FATAL_ERROR "ThreadSanitizer does not run here. Debian: apt install util-linux")
      endif()
      set(PEAL_TEST_LAUNCHER ${PEAL_SETARCH} -R)
    endif()
  endif()
endif()
# libFuzzer finds new inputs by the branches that an input takes.
if(PEAL_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PEAL_FUZZ needs clang: set CMAKE_C_COMPILER to clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
