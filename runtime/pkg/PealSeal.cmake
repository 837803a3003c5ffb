# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFILE=file -P PealSeal.cmake: appends the seal by which
# peal_program_load_file knows that a program's file is as it was built: a line
# with the SHA-256 of all bytes before it. By hand, where there is no CMake:
#
#   printf 'peal-sha256:%.64s\n' "$(sha256sum <file)" >>file
file(SHA256 "${FILE}" sum)
file(APPEND "${FILE}" "peal-sha256:${sum}\n")
