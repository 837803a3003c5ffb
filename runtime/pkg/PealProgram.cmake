# SPDX-License-Identifier: Apache-2.0
#
# peal_add_program(<name> [MODULE] SOURCES <file>... [TARGETS <target>...])
#
# Makes one static library <name> out of program sources (the device dialect:
# .c, .cc, .cpp or .cxx). Every source is compiled for the devices in PEAL_TARGETS
# (PealTargets.cmake; TARGETS replaces it for this program, and `TARGETS host`
# makes no device image), and twice for the host: once for workers of any number of
# lanes, once with PEAL_SINGLE_LANE=1, the specialisation that runs where a worker
# has one lane.
# Its text and that of its headers is embedded too (PealSources.cmake), for
# devices that none of the images is for. The program's struct names images,
# text and the second host entry by ordinary (not weak) references, so that linking takes all of them out of the library.
# Link <name> to whatever launches the program; peal::peal comes with it.
#
# With MODULE it is a file <name>.so for peal_program_load_file instead, sealed
# by a checksum; its sources make one program. Where peal::peal is static, the
# process that loads it has to export its symbols (ENABLE_EXPORTS).
include(${CMAKE_CURRENT_LIST_DIR}/PealImages.cmake)

set(PEAL_SEAL_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/PealSeal.cmake)

# Compiles the sources into the object libraries <name>_lanes and
# <name>_single, PIC: for a shared object. INCLUDES and OPTIONS go to both; LINK gives usage requirements.
function(_peal_program_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PIC" ""
    "SOURCES;INCLUDES;OPTIONS;LINK;TARGETS")
  set(includes ${arg_INCLUDES})
  if(arg_LINK)
    set(includes "$<TARGET_PROPERTY:${arg_LINK},INTERFACE_INCLUDE_DIRECTORIES>")
  endif()
  set(embedded "")
  # The same source may be part of other targets: only in those that have the
  # property it names the images and texts made here.
  string(MAKE_C_IDENTIFIER "peal_images_${name}" prefix)
  set(property "$<TARGET_PROPERTY:PEAL_IMAGES_PREFIX>")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${path})
    string(MAKE_C_IDENTIFIER "${path}" suffix)
    set(definitions "")
    _peal_source_images(${prefix}_${suffix} ${source} file
      INCLUDES "${includes}" TARGETS ${arg_TARGETS})
    if(file)
      list(APPEND embedded ${file})
      list(APPEND definitions
        "$<$<BOOL:${property}>:PEAL_IMAGES=${property}_${suffix}>")
    endif()
    _peal_source_text(${prefix}_${suffix}_text ${source} ${path} file
      INCLUDES "${includes}")
    if(file)
      list(APPEND embedded ${file})
      list(APPEND definitions
        "$<$<BOOL:${property}>:PEAL_SOURCES=${property}_${suffix}_text>")
    endif()
    set_source_files_properties(${source} PROPERTIES
      COMPILE_DEFINITIONS "${definitions}")
  endforeach()
  foreach(variant lanes single)
    set(objects ${name}_${variant})
    add_library(${objects} OBJECT ${arg_SOURCES})
    set_target_properties(${objects} PROPERTIES
      C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
      CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_include_directories(${objects} PRIVATE ${arg_INCLUDES})
    target_compile_options(${objects} PRIVATE ${arg_OPTIONS})
    target_link_libraries(${objects} PRIVATE ${arg_LINK})
    if(PEAL_BUILD_SHARED OR arg_PIC)
      set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  endforeach()
  target_sources(${name}_lanes PRIVATE ${embedded})
  if(embedded)
    set_target_properties(${name}_lanes PROPERTIES PEAL_IMAGES_PREFIX ${prefix})
  endif()
  target_compile_definitions(${name}_single PRIVATE PEAL_SINGLE_LANE=1)
endfunction()

function(peal_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MODULE" "" "SOURCES;TARGETS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "peal_add_program(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "peal_add_program(${name}): SOURCES is empty")
  endif()
  foreach(source IN LISTS arg_SOURCES)
    if(NOT source MATCHES "\\.(c|cc|cpp|cxx)$")
      message(FATAL_ERROR "peal_add_program(${name}): ${source} is not a "
        ".c, .cc, .cpp or .cxx file")
    endif()
  endforeach()
  if(NOT arg_TARGETS)
    set(arg_TARGETS ${PEAL_IMAGE_TARGETS})
  endif()
  _peal_usable_targets(arg_TARGETS without ${arg_TARGETS})
  # In Peal's own tree the tests link the library with its private symbols.
  set(library peal::peal)
  if(PEAL_PROGRAM_LIBRARY)
    set(library ${PEAL_PROGRAM_LIBRARY})
  endif()
  set(pic "")
  set(kind STATIC)
  if(arg_MODULE)
    set(pic PIC)
    set(kind MODULE)
  endif()
  _peal_program_objects(${name} ${pic} SOURCES ${arg_SOURCES} LINK ${library}
    TARGETS ${arg_TARGETS})
  add_library(${name} ${kind}
    $<TARGET_OBJECTS:${name}_lanes> $<TARGET_OBJECTS:${name}_single>)
  # A library of objects alone does not say its language: the linker's must be
  # C++ where a source is.
  set(language C)
  if(arg_SOURCES MATCHES "\\.(cc|cpp|cxx)(;|$)")
    set(language CXX)
  endif()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE ${language})
  if(NOT arg_MODULE)
    target_link_libraries(${name} PUBLIC ${library})
    return()
  endif()
  # Its functions of libpeal are those of the process, of which there must be
  # one: never a copy out of libpeal.a. What it defines itself is its own, even
  # where the process has something of the same name. Installing must not change
  # it, so it has no path to strip.
  get_target_property(type ${library} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_link_libraries(${name} PRIVATE ${library})
  endif()
  target_link_libraries(${name} PRIVATE m)
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so"
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:${name}>
      -P ${PEAL_SEAL_SCRIPT}
    VERBATIM)
endfunction()
