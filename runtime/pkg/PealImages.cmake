# SPDX-License-Identifier: Apache-2.0
#
# Device images and embedded text of program sources. Finds the device compilers.
# Defines the commands that compile a source for each target and embed the image.
# Embeds the text for compilers at run time. PealProgram.cmake includes this file,
# and both are installed. Builds for the host need none of it.
#
#     PEAL_CUDA, PEAL_HIP          AUTO (default), ON or OFF
#     PEAL_TARGETS                 targets of the images: PealTargets.cmake
#     PEAL_EMBED_SOURCES           ON (default) or OFF: whether to embed the text
#
# A target is left out if its compiler cannot compile an empty source. The
# configuration prints such targets. Several directories may find the package:
# each needs the variables. So the include guard is per directory.
include_guard(DIRECTORY)
include(${CMAKE_CURRENT_LIST_DIR}/PealSources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/PealTargets.cmake)
set(PEAL_SOURCES_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/PealSources.cmake)

if(NOT DEFINED PEAL_EMBED_SOURCES)
  set(PEAL_EMBED_SOURCES ON)
endif()
foreach(_peal_option PEAL_CUDA PEAL_HIP)
  if(NOT DEFINED ${_peal_option})
    set(${_peal_option} AUTO)
  endif()
  if(NOT ${_peal_option} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${_peal_option}=${${_peal_option}}: say AUTO, ON or OFF")
  endif()
endforeach()
# ---- compilers -------------------------------------------------------------
# PEAL_NVCC, PEAL_HIP_CLANG: a path, "none", or "off".
set(PEAL_NVCC off)
if(NOT PEAL_CUDA STREQUAL "OFF")
  find_program(PEAL_NVCC_FOUND nvcc
    HINTS "${CUDAToolkit_ROOT}/bin" ENV CUDAToolkit_ROOT ENV CUDA_HOME
    PATHS /usr/local/cuda/bin PATH_SUFFIXES bin)
  if(PEAL_NVCC_FOUND)
    set(PEAL_NVCC ${PEAL_NVCC_FOUND})
  elseif(PEAL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PEAL_CUDA=ON and no nvcc in PATH, CUDAToolkit_ROOT, "
      "CUDA_HOME or /usr/local/cuda/bin: install the CUDA toolkit "
      "(Debian: nvidia-cuda-toolkit) or configure with PEAL_CUDA=AUTO")
  else()
    set(PEAL_NVCC none)
  endif()
endif()

# lld links code objects.
set(PEAL_HIP_CLANG off)
if(NOT PEAL_HIP STREQUAL "OFF")
  set(PEAL_HIP_CLANG none)
  find_program(PEAL_CLANG_FOUND clang)
  find_program(PEAL_LLD_FOUND NAMES lld ld.lld)
  if(PEAL_CLANG_FOUND)
    execute_process(COMMAND ${PEAL_CLANG_FOUND} --print-targets
      OUTPUT_VARIABLE _peal_known ERROR_QUIET)
    if(_peal_known MATCHES "amdgcn")
      set(PEAL_HIP_CLANG ${PEAL_CLANG_FOUND})
    endif()
  endif()
  if(PEAL_HIP STREQUAL "ON")
    if(PEAL_HIP_CLANG STREQUAL "none" OR NOT PEAL_LLD_FOUND)
      message(FATAL_ERROR "PEAL_HIP=ON and no clang with the amdgcn target, or "
        "no lld: install them (Debian: apt install clang lld) or configure "
        "with PEAL_HIP=AUTO")
    endif()
  endif()
endif()

# ---- targets ---------------------------------------------------------------
# Returns the command that compiles for a target, up to -o; empty without a
# compiler.
function(_peal_image_command target out)
  set(command "")
  if(target MATCHES "^gfx[0-9a-f]+$")
    if(PEAL_LLD_FOUND AND NOT PEAL_HIP_CLANG MATCHES "^(off|none)$")
      set(command ${PEAL_HIP_CLANG} -x hip --cuda-device-only
        --no-gpu-bundle-output -nogpuinc -nogpulib -O3 -std=c++17
        --offload-arch=${target})
    endif()
  elseif(target MATCHES "^(compute|sm)_[0-9]+[af]?$")
    set(kind -cubin)
    if(target MATCHES "^compute_")
      set(kind -ptx)
    endif()
    if(NOT PEAL_NVCC MATCHES "^(off|none)$")
      set(command ${PEAL_NVCC} -x cu -O3 -std=c++17 ${kind} -arch=${target})
    endif()
  endif()
  set(${out} ${command} PARENT_SCOPE)
endfunction()

# Returns ON if a compiler here compiles an empty source for the target.
function(_peal_compiles target out)
  get_property(known GLOBAL PROPERTY PEAL_COMPILES_${target} SET)
  if(NOT known)
    _peal_image_command(${target} command)
    set(failed 1)
    if(command)
      set(empty ${CMAKE_BINARY_DIR}/peal_images/empty.c)
      file(WRITE ${empty} "")
      execute_process(COMMAND ${command} -o ${empty}.image ${empty}
        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    endif()
    set_property(GLOBAL PROPERTY PEAL_COMPILES_${target} "${failed}")
  endif()
  get_property(failed GLOBAL PROPERTY PEAL_COMPILES_${target})
  if(failed EQUAL 0)
    set(${out} ON PARENT_SCOPE)
  else()
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()

# _peal_usable_targets(<out> <without> <target>...): returns the targets that a
# compiler here compiles for. native, all and host are replaced first. <without>
# gets the other targets.
function(_peal_usable_targets out without)
  _peal_expand_targets(wanted ${ARGN})
  set(usable "")
  set(rest ${wanted})
  foreach(target IN LISTS wanted)
    _peal_compiles(${target} compiles)
    if(compiles)
      list(APPEND usable ${target})
      list(REMOVE_ITEM rest ${target})
    endif()
  endforeach()
  set(${out} ${usable} PARENT_SCOPE)
  set(${without} ${rest} PARENT_SCOPE)
endfunction()

# _peal_why_no_image(<out> <target>): returns why no compiler here compiles for
# the target.
function(_peal_why_no_image out target)
  _peal_image_command(${target} command)
  if(target MATCHES "^gfx")
    set(names PEAL_HIP "clang for AMD GPUs with lld" "${PEAL_HIP_CLANG}")
  else()
    set(names PEAL_CUDA nvcc "${PEAL_NVCC}")
  endif()
  list(GET names 0 option)
  list(GET names 1 compiler)
  list(GET names 2 path)
  if(command)
    set(${out} "${compiler} does not compile for it" PARENT_SCOPE)
  elseif(path STREQUAL "off")
    set(${out} "${option} is OFF" PARENT_SCOPE)
  else()
    set(${out} "${compiler} is not installed" PARENT_SCOPE)
  endif()
endfunction()

_peal_expand_targets(_peal_wanted ${PEAL_TARGETS})
_peal_usable_targets(PEAL_IMAGE_TARGETS _peal_without ${PEAL_TARGETS})
foreach(_peal_pair "PEAL_CUDA:(sm|compute)_" "PEAL_HIP:gfx")
  string(REPLACE ":" ";" _peal_pair ${_peal_pair})
  list(GET _peal_pair 0 _peal_option)
  list(GET _peal_pair 1 _peal_kind)
  if(${_peal_option} STREQUAL "ON" AND _peal_wanted MATCHES "${_peal_kind}" AND
     NOT PEAL_IMAGE_TARGETS MATCHES "${_peal_kind}")
    message(FATAL_ERROR "${_peal_option}=ON and the compiler compiles for none "
      "of ${_peal_wanted}: compile an empty source by hand to see its error, "
      "or configure with ${_peal_option}=AUTO")
  endif()
endforeach()
get_property(_peal_said GLOBAL PROPERTY PEAL_IMAGES_SAID)
if(NOT _peal_said)
  set_property(GLOBAL PROPERTY PEAL_IMAGES_SAID 1)
  string(REPLACE ";" " " _peal_text "host;${PEAL_IMAGE_TARGETS}")
  message(STATUS "images of programs: ${_peal_text}")
  if("native" IN_LIST PEAL_TARGETS AND NOT PEAL_NATIVE_TARGETS)
    message(STATUS "no GPU found on this machine; PEAL_TARGETS=all or a list, "
      "\"sm_90;gfx90a\", compiles images for other machines")
  endif()
  foreach(_peal_target IN LISTS _peal_without)
    _peal_why_no_image(_peal_text ${_peal_target})
    message(STATUS "no image for ${_peal_target}: ${_peal_text}")
  endforeach()
endif()

# ---- one source ------------------------------------------------------------
# Returns the path of a generated file: C, or C++ in projects without C.
function(_peal_made_file name out)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(extension c)
  if(NOT C IN_LIST languages)
    set(extension cpp)
  endif()
  set(${out} ${CMAKE_CURRENT_BINARY_DIR}/peal_images/${name}.${extension}
    PARENT_SCOPE)
endfunction()

# _peal_source_images(<symbol> <source> <out>): compiles the source for each
# target. <out> is a C file that embeds the images as `struct peal_image
# <symbol>[]`. It belongs into the program's library. It is empty without targets.
# INCLUDES: folders, or generator expressions for folders.
function(_peal_source_images symbol source out)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "INCLUDES;TARGETS")
  set(${out} "" PARENT_SCOPE)
  if(NOT arg_TARGETS)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/peal_images)
  file(MAKE_DIRECTORY ${folder})
  get_filename_component(source ${source} ABSOLUTE)
  set(includes ${arg_INCLUDES})
  set(includes "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>")
  set(rows "")
  set(blobs "")
  set(images "")
  foreach(target IN LISTS arg_TARGETS)
    set(image ${folder}/${symbol}.${target})
    set(is_text OFF)
    if(target MATCHES "^gfx")
      set(kind PEAL_IMAGE_HSACO)
    elseif(target MATCHES "^compute_")
      set(kind PEAL_IMAGE_PTX)
      set(is_text ON) # the image includes a zero byte at its end
    else()
      set(kind PEAL_IMAGE_CUBIN)
    endif()
    _peal_image_command(${target} command)
    add_custom_command(OUTPUT ${image}
      COMMAND ${command} "${includes}" -MD -MF ${image}.d -MT ${image}
        -o ${image} ${source}
      DEPENDS ${source} DEPFILE ${image}.d
      COMMENT "Building device image ${image}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND images ${image})
    set(at ${symbol}_${target})
    _peal_embed(${at} ${image} ${is_text} blob)
    string(APPEND blobs "${blob}")
    set(past ${at}_end)
    if(is_text)
      string(APPEND past " + 1")
    endif()
    string(APPEND rows "\t{ \"${target}\", ${kind}, 0, ${at}, ${past} },\n")
  endforeach()
  _peal_made_file(${symbol} file)
  file(CONFIGURE OUTPUT ${file} CONTENT "/* Made by PealImages.cmake. */
#include <peal/abi/program.h>

@blobs@
PEAL_EXTERN_C const struct peal_image ${symbol}[];
const struct peal_image ${symbol}[] = {
@rows@	{ 0, 0, 0, 0, 0 }
};
" @ONLY)
  set_source_files_properties(${file} PROPERTIES OBJECT_DEPENDS "${images}")
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# _peal_source_text(<symbol> <source> <name> <out>): embeds the source and its
# headers. <out> is a C file with `struct peal_source_file <symbol>[]`, which the
# build makes. It is empty if PEAL_EMBED_SOURCES is OFF. INCLUDES: as above.
function(_peal_source_text symbol source name out)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "INCLUDES")
  set(${out} "" PARENT_SCOPE)
  if(NOT PEAL_EMBED_SOURCES)
    return()
  endif()
  get_filename_component(source ${source} ABSOLUTE)
  set(language c)
  set(compiler ${CMAKE_C_COMPILER})
  if(NOT source MATCHES "\\.c$")
    set(language c++)
    set(compiler ${CMAKE_CXX_COMPILER})
  endif()
  _peal_made_file(${symbol} file)
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DNAME=${name}
      -DSYMBOL=${symbol} -DOUTPUT=${file} "-DINCLUDES=$<JOIN:${arg_INCLUDES},|>"
      -DCOMPILER=${compiler} -DLANGUAGE=${language} -P ${PEAL_SOURCES_SCRIPT}
    DEPENDS ${source} ${PEAL_SOURCES_SCRIPT} DEPFILE ${file}.d
    COMMENT "Collecting the text of ${name}"
    VERBATIM)
  set(${out} ${file} PARENT_SCOPE)
endfunction()
