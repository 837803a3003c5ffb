# SPDX-License-Identifier: Apache-2.0
# Installs Markdown pages with links that lead to installed files. A page keeps its
# path below CMAKE_INSTALL_DOCDIR, without a leading docs/. A link to a file that
# is not installed becomes text: the path of the file in the source tree.

# Sets `out` to the installed path of a file of the tree, relative to
# CMAKE_INSTALL_DOCDIR. Empty: the file is not installed.
function(peal_installed_path path pages out)
  if(path IN_LIST pages OR path MATCHES "^(LICENSE|examples)(/|$)")
    string(REGEX REPLACE "^docs/" "" path "${path}")
  elseif(path MATCHES "^include/(peal/.*\\.h)$")
    file(RELATIVE_PATH path ${CMAKE_INSTALL_FULL_DOCDIR}
      ${CMAKE_INSTALL_FULL_INCLUDEDIR}/${CMAKE_MATCH_1})
  else()
    set(path "")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# Sets `out` to a link of an installed page. `label` is the text of the link, `path`
# the file in the tree, `folder` the folder of the installed page.
function(peal_installed_link label path anchor folder pages out)
  peal_installed_path("${path}" "${pages}" installed)
  if(installed)
    file(RELATIVE_PATH installed ${CMAKE_INSTALL_FULL_DOCDIR}/${folder}
      ${CMAKE_INSTALL_FULL_DOCDIR}/${installed})
    set(${out} "[${label}](${installed}${anchor})" PARENT_SCOPE)
  elseif(label STREQUAL path)
    set(${out} "`${path}` of the sources" PARENT_SCOPE)
  else()
    set(${out} "${label} (`${path}` of the sources)" PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to the text of a page with links for the installed tree.
function(peal_installed_text page pages out)
  peal_installed_path(${page} "${pages}" installed)
  get_filename_component(folder "${installed}" DIRECTORY)
  get_filename_component(from ${PROJECT_SOURCE_DIR}/${page} DIRECTORY)
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  set(done "")
  while(text MATCHES "\\]\\(([A-Za-z.][^):# ]*)(#[^) ]*)?\\)")
    set(link "${CMAKE_MATCH_0}")
    set(anchor "${CMAKE_MATCH_2}")
    get_filename_component(path "${from}/${CMAKE_MATCH_1}" ABSOLUTE)
    string(FIND "${text}" "${link}" end)
    string(SUBSTRING "${text}" 0 ${end} before)
    string(FIND "${before}" "[" begin REVERSE)
    if(EXISTS "${path}" AND NOT begin EQUAL -1)
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} "${path}")
      math(EXPR at "${begin} + 1")
      string(SUBSTRING "${before}" ${at} -1 label)
      string(SUBSTRING "${before}" 0 ${begin} before)
      peal_installed_link("${label}" "${path}" "${anchor}" "${folder}" "${pages}" new)
    else() # code that looks like a link
      set(new "${link}")
    endif()
    string(APPEND done "${before}${new}")
    string(LENGTH "${link}" length)
    math(EXPR end "${end} + ${length}")
    string(SUBSTRING "${text}" ${end} -1 text)
  endwhile()
  set(${out} "${done}${text}" PARENT_SCOPE)
endfunction()

# Installs the pages. They are paths in the tree.
function(peal_install_pages)
  foreach(page IN LISTS ARGV)
    peal_installed_text(${page} "${ARGV}" text)
    peal_installed_path(${page} "${ARGV}" installed)
    get_filename_component(folder "${installed}" DIRECTORY)
    file(WRITE ${PROJECT_BINARY_DIR}/pages/${installed} "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/${page})
    install(FILES ${PROJECT_BINARY_DIR}/pages/${installed}
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
  endforeach()
endfunction()
