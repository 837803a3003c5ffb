# SPDX-License-Identifier: Apache-2.0
#
# Selects the device images of a build. PealImages.cmake includes this file, and
# both are installed.
#
#     PEAL_TARGETS   a list of: native       the GPUs of this machine
#                               all          every target that Peal is tested with
#                               host         no image
#                               compute_NN   PTX, which the driver compiles
#                               sm_NN        a cubin for NVIDIA
#                               gfx...       a code object for AMD
#
# The default is native and one PTX image, for GPUs that are not in this machine.
# If no image fits a device, NVRTC or hipRTC compiles the embedded text once. The
# result is kept in PEAL_CACHE_DIR.
include_guard(DIRECTORY)

set(PEAL_TARGETS "native;compute_75" CACHE STRING
  "Device images of programs: native, all, host, compute_NN, sm_NN, gfx...")
set(_peal_allowed "native, all, host, compute_NN, sm_NN, gfxNNN")
set(_peal_named ${PEAL_TARGETS})
if(NOT DEFINED _peal_named OR _peal_named STREQUAL "")
  message(FATAL_ERROR "option 'PEAL_TARGETS': names no target ('${PEAL_TARGETS}', "
    "allowed ${_peal_allowed}); use host for no image")
endif()
set(PEAL_ALL_TARGETS
  compute_75 sm_80 sm_90 sm_100 sm_120 gfx90a gfx942 gfx1100)
set(PEAL_DETECT_SOURCE ${CMAKE_CURRENT_LIST_DIR}/PealDetect.c)

foreach(_peal_old PEAL_CUDA_TARGETS PEAL_HIP_TARGETS PEAL_EXAMPLE_TARGETS)
  if(DEFINED ${_peal_old})
    message(FATAL_ERROR "option '${_peal_old}': removed; set PEAL_TARGETS and "
      "clear the old options with -UPEAL_CUDA_TARGETS -UPEAL_HIP_TARGETS "
      "-UPEAL_EXAMPLE_TARGETS")
  endif()
endforeach()

# _peal_matches(<out> <regex> <command>...): returns the matches in the command's
# output. The list is empty if the command is missing, fails, or takes over 20 s.
function(_peal_matches out regex command)
  set(found "")
  if(command)
    execute_process(COMMAND ${command} ${ARGN}
      OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed TIMEOUT 20)
    if(failed EQUAL 0)
      string(REGEX MATCHALL "${regex}" found "${text}")
    endif()
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Returns the compute capabilities of NVIDIA's GPUs here, as sm_NN. It asks
# nvidia-smi, then the driver: a container may have only the driver's library.
function(_peal_detect_cuda out)
  find_program(PEAL_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(PEAL_NVIDIA_SMI)
  _peal_matches(found "[0-9]+\\.[0-9]" "${PEAL_NVIDIA_SMI}"
    --query-gpu=compute_cap --format=csv,noheader)
  list(TRANSFORM found REPLACE "^(.*)\\.(.)$" "sm_\\1\\2")
  if(NOT found)
    _peal_ask_driver(text)
    string(REGEX MATCHALL "sm_[0-9]+" found "${text}")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Returns the output of PealDetect.c, which asks NVIDIA's driver.
function(_peal_ask_driver out)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(source ${CMAKE_BINARY_DIR}/peal_images/detect.c)
  if(NOT C IN_LIST languages)
    set(source ${CMAKE_BINARY_DIR}/peal_images/detect.cpp)
  endif()
  configure_file(${PEAL_DETECT_SOURCE} ${source} COPYONLY)
  # try_run caches its results. Remove them to ask at each configuration.
  unset(PEAL_DETECT_RUN CACHE)
  unset(PEAL_DETECT_COMPILED CACHE)
  try_run(PEAL_DETECT_RUN PEAL_DETECT_COMPILED
    ${CMAKE_BINARY_DIR}/peal_images/detect ${source}
    LINK_LIBRARIES ${CMAKE_DL_LIBS} RUN_OUTPUT_VARIABLE text)
  if(NOT PEAL_DETECT_COMPILED OR NOT PEAL_DETECT_RUN EQUAL 0)
    set(text "")
  endif()
  mark_as_advanced(PEAL_DETECT_RUN PEAL_DETECT_COMPILED)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Returns AMD's GPUs here, as gfx..., by rocminfo or by the driver's files in /sys.
# There 90010 means gfx90a: parts of two decimal digits, the last two in hex.
function(_peal_detect_hip out)
  find_program(PEAL_ROCMINFO rocminfo HINTS ENV ROCM_PATH PATHS /opt/rocm
    PATH_SUFFIXES bin)
  mark_as_advanced(PEAL_ROCMINFO)
  _peal_matches(found "Name: +gfx[0-9a-f]+" "${PEAL_ROCMINFO}")
  list(TRANSFORM found REPLACE "^.* " "")
  if(NOT found)
    file(GLOB nodes /sys/class/kfd/kfd/topology/nodes/*/properties)
    foreach(node IN LISTS nodes)
      file(STRINGS ${node} line REGEX "^gfx_target_version [1-9]")
      if(line MATCHES "([0-9]+)([0-9][0-9])([0-9][0-9])$")
        set(major ${CMAKE_MATCH_1})
        math(EXPR minor "${CMAKE_MATCH_2}" OUTPUT_FORMAT HEXADECIMAL)
        math(EXPR step "${CMAKE_MATCH_3}" OUTPUT_FORMAT HEXADECIMAL)
        string(REPLACE "0x" "" name "gfx${major}${minor}${step}")
        list(APPEND found ${name})
      endif()
    endforeach()
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# PEAL_NATIVE_TARGETS: the targets of `native` on this machine; none in a cross
# build.
set(PEAL_NATIVE_TARGETS "")
if(NOT CMAKE_CROSSCOMPILING)
  _peal_detect_cuda(PEAL_NATIVE_TARGETS)
  _peal_detect_hip(_peal_found)
  list(APPEND PEAL_NATIVE_TARGETS ${_peal_found})
  list(REMOVE_DUPLICATES PEAL_NATIVE_TARGETS)
endif()

# _peal_expand_targets(<out> <target>...): replaces native, all and host by their
# targets.
function(_peal_expand_targets out)
  set(found "")
  foreach(target IN LISTS ARGN)
    if(target STREQUAL "native")
      list(APPEND found ${PEAL_NATIVE_TARGETS})
    elseif(target STREQUAL "all")
      list(APPEND found ${PEAL_ALL_TARGETS})
    elseif(target MATCHES "^(compute_[0-9]+|sm_[0-9]+|gfx[0-9a-f]+)[af]?$")
      list(APPEND found ${target})
    elseif(NOT target STREQUAL "host")
      message(FATAL_ERROR "target '${target}': is no target of a device image "
        "(${target}, allowed ${_peal_allowed}); use sm_90, gfx90a or host")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()
