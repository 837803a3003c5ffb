/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SOCKET_H
#define PEALI_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Sockets of the abstract namespace, for processes of one machine.
 * peal_stall_report_pid and process groups (process_group.h) use them. */

/* Makes the address of a socket from a name. Returns the length of the address.
 * A name that is too long is cut. */
socklen_t peali_socket_name(struct sockaddr_un *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the time limit of calls on a socket, in ns; 0: no limit. The option is
 * SO_RCVTIMEO or SO_SNDTIMEO. */
void peali_socket_limit(int fd, int option, uint64_t ns);

/* Gets pid and user of the other end, as the kernel reports them. Returns 0, or
 * -1 with errno. */
int peali_socket_peer(int fd, struct ucred *out);

#endif
