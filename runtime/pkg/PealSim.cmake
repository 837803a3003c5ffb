# SPDX-License-Identifier: Apache-2.0
#
# Targets for the simulator (tests/sim/engine), built only on demand. Not
# installed.
#
# peal_sim                       the library
# peal_sim_programs(<name> <source>...)
#                                a library of program sources, host code only
# peal_sim_executable(<name> SOURCES <source>... LINK <library>...)
#                                a program with simulated threads only
include_guard(GLOBAL)

set(PEAL_SIM_FOLDER ${PROJECT_SOURCE_DIR}/tests/sim/engine)

# Sets the compile options of a target for the simulator. INTERCEPT: for all code
# but the simulator's own.
function(_peal_sim_target name)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE PEAL_SIM=1)
  # Most time goes into thread switches: -O3 costs more build time than it saves.
  target_compile_options(${name} PRIVATE ${PEAL_C_WARNINGS}
    $<$<CONFIG:Release>:-O1>)
  if("INTERCEPT" IN_LIST ARGN)
    target_compile_options(${name} PRIVATE
      "SHELL:-include \"${PEAL_SIM_FOLDER}/intercept.h\"")
  endif()
endfunction()

function(peal_sim_programs name)
  foreach(variant lanes single)
    add_library(${name}_${variant} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    _peal_sim_target(${name}_${variant} INTERCEPT)
    target_include_directories(${name}_${variant} PRIVATE
      ${PROJECT_SOURCE_DIR}/tests)
  endforeach()
  target_compile_definitions(${name}_single PRIVATE PEAL_SINGLE_LANE=1)
  add_library(${name} STATIC EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:${name}_lanes> $<TARGET_OBJECTS:${name}_single>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
endfunction()

function(peal_sim_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  _peal_sim_target(${name} INTERCEPT)
  target_link_libraries(${name} PRIVATE ${arg_LINK} peal_sim
    ${PEAL_DEPENDENCIES} m)
endfunction()

# The simulator's own files, and a file of the library that it uses unchanged.
peal_glob(own ${PEAL_SIM_FOLDER}/*.c)
add_library(peal_sim_own OBJECT EXCLUDE_FROM_ALL ${own}
  ${PROJECT_SOURCE_DIR}/runtime/host_support/fiber.c)
_peal_sim_target(peal_sim_own)

# The library's files, except those that the simulator replaces.
set(intercepted ${sources})
list(FILTER intercepted EXCLUDE REGEX "/runtime/host_support/fibers?\\.c$")
add_library(peal_sim_objects OBJECT EXCLUDE_FROM_ALL ${intercepted})
_peal_sim_target(peal_sim_objects INTERCEPT)
target_compile_definitions(peal_sim_objects PRIVATE
  PEALI_VERSION="${PROJECT_VERSION}"
  PEALI_INSTALLED_COMMAND="${CMAKE_INSTALL_FULL_BINDIR}/peal"
  PEALI_COMMAND_FROM_LIBRARY="${command_from_library}")
target_link_libraries(peal_sim_objects PRIVATE ${PEAL_DEPENDENCIES})

peal_sim_programs(peal_sim_builtin ${programs})
add_library(peal_sim STATIC EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:peal_sim_own> $<TARGET_OBJECTS:peal_sim_objects>
  $<TARGET_OBJECTS:peal_sim_builtin_lanes>
  $<TARGET_OBJECTS:peal_sim_builtin_single>)
set_target_properties(peal_sim PROPERTIES LINKER_LANGUAGE C)
