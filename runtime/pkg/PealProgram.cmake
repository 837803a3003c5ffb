# SPDX-License-Identifier: Apache-2.0
#
# peal_add_program(<name> [MODULE] SOURCES <file>... [TARGETS <target>...])
#
# Makes a static library <name> of program sources (device dialect: .c, .cc, .cpp
# or .cxx). Link <name> to the target that launches the program. It brings
# peal::peal. The library has for each source:
#
# - an image for each device in PEAL_TARGETS (PealTargets.cmake). TARGETS replaces
#   PEAL_TARGETS for this program. `TARGETS host` makes no image.
# - two host entries. One is for any number of lanes. The other is compiled with
#   PEAL_SINGLE_LANE=1 and runs if a worker has one lane.
# - the text of the source and of its headers (PealSources.cmake), for devices
#   without an image.
#
# The program's struct has strong (not weak) references to images, text and the
# second host entry. So the linker takes all of them from the library.
#
# With MODULE it makes a file <name>.so for peal_program_load_file, with a
# digest. The sources make one program. If peal::peal is static, the process
# that loads the file must export its symbols (ENABLE_EXPORTS).
include(${CMAKE_CURRENT_LIST_DIR}/PealImages.cmake)

set(PEAL_DIGEST_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/PealDigest.cmake)

# Compiles the sources into the object libraries <name>_lanes and <name>_single.
# PIC: for a shared object. INCLUDES and OPTIONS apply to both. LINK: a target for
# usage requirements.
function(_peal_program_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PIC" ""
    "SOURCES;INCLUDES;OPTIONS;LINK;TARGETS")
  set(includes ${arg_INCLUDES})
  if(arg_LINK)
    set(includes "$<TARGET_PROPERTY:${arg_LINK},INTERFACE_INCLUDE_DIRECTORIES>")
  endif()
  set(embedded "")
  # Other targets may have the source, too. It refers to these images and texts
  # only in targets with the property.
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
  # In Peal's own tree the tests link the library with private symbols.
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
  # A library of objects alone has no language. It needs the linker of C++ if a
  # source is C++.
  set(language C)
  if(arg_SOURCES MATCHES "\\.(cc|cpp|cxx)(;|$)")
    set(language CXX)
  endif()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE ${language})
  if(NOT arg_MODULE)
    target_link_libraries(${name} PUBLIC ${library})
    return()
  endif()
  # The file uses the process's functions of libpeal. It must not get a copy of
  # libpeal.a. -Bsymbolic: its own symbols win over equal names of the process.
  # The install must not change the finished file, so it has no path to strip.
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
      -P ${PEAL_DIGEST_SCRIPT}
    VERBATIM)
endfunction()
