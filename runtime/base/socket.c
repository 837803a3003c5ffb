/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the abstract namespace. See socket.h. */
#include "runtime/base/socket.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

socklen_t peali_socket_name(struct sockaddr_un *out, const char *format, ...)
{
	const size_t room = sizeof(out->sun_path) - 1;
	va_list arguments;
	int n;

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	va_start(arguments, format);
	n = vsnprintf(out->sun_path + 1, room, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= room)
		n = (int)room - 1;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)n);
}

void peali_socket_limit(int fd, int option, uint64_t ns)
{
	struct timeval t = { (time_t)(ns / 1000000000),
			     (suseconds_t)(ns % 1000000000 / 1000) };

	if (ns && !t.tv_sec && !t.tv_usec)
		t.tv_usec = 1; /* 0 would mean no limit */
	setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t));
}

int peali_socket_peer(int fd, struct ucred *out)
{
	socklen_t bytes = sizeof(*out);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &bytes);
}
