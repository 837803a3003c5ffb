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

/*
 * Calls that wait until a deadline (wait.h), also if signals interrupt them. A
 * limit of the socket (SO_RCVTIMEO) would begin again after each signal. They
 * return -1 with errno. EAGAIN: the deadline has passed.
 */
int peali_socket_connect(int fd, const struct sockaddr_un *to, socklen_t bytes,
			 uint64_t deadline);
/* Sends all bytes. Returns 0 or -1. */
int peali_socket_send(int fd, const void *data, size_t bytes,
		      uint64_t deadline);
/* Receives once. Returns the number of bytes, 0 at the end, or -1. */
ssize_t peali_socket_receive(int fd, void *data, size_t bytes,
			     uint64_t deadline);

/* Sends one message as sendmsg does, with MSG_NOSIGNAL. */
ssize_t peali_socket_sendmsg(int fd, const struct msghdr *message,
			     uint64_t deadline);

/* Gets pid and user of the other end, as the kernel reports them. Returns 0, or
 * -1 with errno. */
int peali_socket_peer(int fd, struct ucred *out);

#endif
