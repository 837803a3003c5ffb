# SPDX-License-Identifier: Apache-2.0
#
# Embeds the text of program sources, for compilers at run time. An include of
# this file defines _peal_embed, which also embeds images. The build runs the file
# as a script (cmake -P) when the source or one of its headers has changed. The
# script writes a C file with `struct peal_source_file SYMBOL[]`:
#
#     SOURCE, NAME     the program source, and its name in the table
#     SYMBOL           of the table
#     OUTPUT           the C file; OUTPUT.d lists its dependencies
#     INCLUDES         folders, separated by |
#     COMPILER         preprocesses the source, to find its headers
#     LANGUAGE         c or c++
#
# The table has the source and its headers. libpeal has the headers of the
# dialect. NVRTC finds a header only by the exact text of its #include. So the
# table has a header once for each spelling.

# _peal_embed(<symbol> <file> <zero> <out>): returns C code that embeds a file,
# from <symbol> to <symbol>_end. <zero>: adds a zero byte that does not count.
function(_peal_embed symbol file zero out)
  set(end "")
  if(zero)
    set(end "\n\t\".byte 0\\n\"")
  endif()
  set(${out} "__asm__(\".pushsection .rodata\\n\"
	\".balign 16\\n\"
	\".globl ${symbol}\\n\"
	\".hidden ${symbol}\\n\"
	\"${symbol}:\\n\"
	\".incbin \\\"${file}\\\"\\n\"
	\".globl ${symbol}_end\\n\"
	\".hidden ${symbol}_end\\n\"
	\"${symbol}_end:\\n\"${end}
	\".popsection\\n\");
extern const unsigned char ${symbol}[], ${symbol}_end[];
" PARENT_SCOPE)
endfunction()

# _peal_source_table(<symbol> <names> <files> <out>): returns C code that embeds
# texts and lists them as `struct peal_source_file <symbol>[]`.
function(_peal_source_table symbol names files out)
  set(blobs "")
  set(rows "")
  set(known "")
  foreach(name file IN ZIP_LISTS names files)
    list(FIND known "${file}" index)
    if(index EQUAL -1)
      list(LENGTH known index)
      list(APPEND known "${file}")
      _peal_embed(${symbol}_${index} "${file}" ON blob)
      string(APPEND blobs "${blob}")
    endif()
    set(at ${symbol}_${index})
    string(APPEND rows
      "\t{ \"${name}\", (const char *)${at}, (const char *)${at}_end },\n")
  endforeach()
  set(${out} "/* Made by PealSources.cmake. */
#include <peal/abi/program.h>

${blobs}
PEAL_EXTERN_C const struct peal_source_file ${symbol}[];
const struct peal_source_file ${symbol}[] = {
${rows}	{ 0, 0, 0 }
};
" PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# ---- the script ------------------------------------------------------------
cmake_policy(VERSION 3.22)
string(REPLACE "|" ";" INCLUDES "${INCLUDES}")
set(flags "")
foreach(folder IN LISTS INCLUDES)
  list(APPEND flags "-I${folder}")
endforeach()

# Finds the headers that compilers at run time would read, except system headers.
set(read "")
foreach(defines "-D__CUDACC__;-D__CUDACC_RTC__" "-D__HIP__;-D__HIPCC_RTC__")
  execute_process(
    COMMAND ${COMPILER} -x ${LANGUAGE} ${defines} ${flags} -MM -MG ${SOURCE}
    OUTPUT_VARIABLE rule ERROR_VARIABLE log RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${SOURCE} cannot be preprocessed as for a GPU:\n${log}")
  endif()
  string(REGEX REPLACE "^[^:]*:" "" rule "${rule}")
  string(REPLACE "\\\n" " " rule "${rule}")
  separate_arguments(rule UNIX_COMMAND "${rule}")
  list(APPEND read ${rule})
endforeach()
set(files "")
set(depends "")
foreach(file IN LISTS read)
  get_filename_component(file "${file}" REALPATH)
  if(EXISTS "${file}" AND NOT file IN_LIST files)
    list(APPEND files "${file}")
    string(REPLACE " " "\\ " file "${file}")
    string(APPEND depends " \\\n  ${file}")
  endif()
endforeach()
file(WRITE "${OUTPUT}.d" "${OUTPUT}:${depends}\n")

# Finds the spellings of each header. One spelling for two files is an error.
get_filename_component(source "${SOURCE}" REALPATH)
set(names "${NAME}")
set(texts "${source}")
foreach(file IN LISTS files)
  get_filename_component(beside "${file}" DIRECTORY)
  file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "include[ \t]*(<|\")([^>\"]+)")
      continue()
    endif()
    set(name "${CMAKE_MATCH_2}")
    set(folders ${INCLUDES})
    if(CMAKE_MATCH_1 STREQUAL "\"")
      list(PREPEND folders "${beside}")
    endif()
    if(name MATCHES "^peal/")
      continue()
    endif()
    foreach(folder IN LISTS folders)
      get_filename_component(target "${folder}/${name}" REALPATH)
      if(NOT target IN_LIST files)
        continue()
      endif()
      list(FIND names "${name}" index)
      if(index EQUAL -1)
        list(APPEND names "${name}")
        list(APPEND texts "${target}")
      else()
        list(GET texts ${index} other)
        if(NOT other STREQUAL target)
          message(FATAL_ERROR "${SOURCE}: #include \"${name}\" means both "
            "${other} and ${target}; a compiler at run time cannot tell them "
            "apart: include one by another path, or configure with "
            "PEAL_EMBED_SOURCES=OFF")
        endif()
      endif()
      break()
    endforeach()
  endforeach()
endforeach()
_peal_source_table(${SYMBOL} "${names}" "${texts}" text)
file(WRITE "${OUTPUT}" "${text}")
