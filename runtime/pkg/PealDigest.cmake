# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFILE=file -P PealDigest.cmake: appends a program file's digest. The
# digest is a line with the SHA-256 of all bytes before it. It shows to
# peal_program_load_file that the file is complete and unchanged. Without CMake:
#
#   printf 'peal-sha256:%.64s\n' "$(sha256sum <file)" >>file
file(SHA256 "${FILE}" sum)
file(APPEND "${FILE}" "peal-sha256:${sum}\n")
