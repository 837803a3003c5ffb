/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SOCKET_H
#define PEALI_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * Sockets of the abstract namespace, by which processes of one machine talk: what
 * peal_stuck_of and sets of processes (process.h) share.
 */

/* The address of that name; its length. Longer names are cut. */
socklen_t peali_socket_name(struct sockaddr_un *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* How long calls on it may wait: SO_RCVTIMEO or SO_SNDTIMEO. */
void peali_socket_limit(int fd, int option, uint64_t ns);

/* Who is at the other end, by the kernel's word; -1 if it does not say. */
int peali_socket_peer(int fd, struct ucred *out);

#endif
