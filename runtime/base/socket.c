/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the abstract namespace. See socket.h. */
#include "runtime/base/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "runtime/base/system_call.h"
#include "runtime/base/wait.h"

socklen_t peali_socket_name(struct sockaddr_un *out, const char *format, ...)
{
	const size_t max_length = sizeof(out->sun_path) - 1;
	va_list arguments;
	int n;

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	va_start(arguments, format);
	n = vsnprintf(out->sun_path + 1, max_length, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= max_length)
		n = (int)max_length - 1;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)n);
}

/* Sets the time limit of connect on a socket, in ns. */
static void limit_connect(int fd, uint64_t ns)
{
	struct timeval t = { (time_t)(ns / 1000000000),
			     (suseconds_t)(ns % 1000000000 / 1000) };

	if (!t.tv_sec && !t.tv_usec)
		t.tv_usec = 1; /* 0 would mean no limit */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

int peali_socket_connect(int fd, const struct sockaddr_un *to, socklen_t bytes,
			 uint64_t deadline)
{
	uint64_t now = peali_now_ns();

	for (;;) { /* connect waits while the queue of connections is full */
		if (deadline != UINT64_MAX)
			limit_connect(fd, now < deadline ? deadline - now : 0);
		if (!connect(fd, (const struct sockaddr *)to, bytes))
			return 0;
		if (errno != EINTR)
			return -1;
		now = peali_now_ns();
		if (now >= deadline) {
			errno = EAGAIN;
			return -1;
		}
	}
}

/*
 * Waits after a call that would block or was interrupted. Returns 1 if it may
 * be repeated, or 0 with the call's errno.
 */
static int may_repeat(int fd, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (errno == EINTR)
		return 1;
	if (errno != EAGAIN)
		return 0;
	if (peali_poll(&p, 1, deadline) > 0)
		return 1;
	errno = EAGAIN;
	return 0;
}

ssize_t peali_socket_sendmsg(int fd, const struct msghdr *message,
			     uint64_t deadline)
{
	ssize_t n;

	do {
		n = sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && may_repeat(fd, POLLOUT, deadline));
	return n;
}

int peali_socket_send(int fd, const void *data, size_t bytes, uint64_t deadline)
{
	struct iovec part = { (void *)(uintptr_t)data, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	while (part.iov_len) {
		n = peali_socket_sendmsg(fd, &m, deadline);
		if (n < 0)
			return -1;
		part.iov_base = (char *)part.iov_base + n;
		part.iov_len -= (size_t)n;
	}
	return 0;
}

ssize_t peali_socket_receive(int fd, void *data, size_t bytes,
			     uint64_t deadline)
{
	ssize_t n;

	do {
		n = recv(fd, data, bytes, MSG_DONTWAIT);
	} while (n < 0 && may_repeat(fd, POLLIN, deadline));
	return n;
}

int peali_socket_peer(int fd, struct ucred *out)
{
	socklen_t bytes = sizeof(*out);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &bytes);
}
