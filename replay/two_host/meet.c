/*
 * How the two replays of a pair find each other
 *
 * Without an address the replay listens on all addresses of this host, since it does not know which
 * of them leads to the other host; so any program may connect, and admit.c finds out which is the
 * other replay.
 */
#include "replay/two_host/meet.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/log.h"
#include "replay/two_host/wire.h"

enum { LOOK = 100, SECOND = 1000 /* ms */, BACKLOG = 64 };

static bool is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && port <= UINT16_MAX && strlen(text) < 6;
}

static int copy_host(const char *from, size_t length, struct meet_address *address)
{
	if (!length || length >= MEET_HOST)
		return -EINVAL;
	memcpy(address->host, from, length);
	address->host[length] = '\0';
	return 0;
}

int meet_parse(const char *text, bool listen, struct meet_address *ret_address)
{
	struct meet_address address = { 0 };
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	size_t host = colon ? (size_t)(colon - text) : 0;

	if (!is_port(port) || (!listen && (!colon || !strcmp(port, "0"))))
		return -EINVAL;
	snprintf(address.port, sizeof(address.port), "%s", port);
	if (colon && *text == '[') {
		if (host < 2 || text[host - 1] != ']' || copy_host(text + 1, host - 2, &address))
			return -EINVAL;
	} else if (colon && (memchr(text, ':', host) || copy_host(text, host, &address))) {
		return -EINVAL; /* an IPv6 address needs brackets */
	}
	*ret_address = address;
	return 0;
}

static int look_up_host(const struct meet_address *at, bool listen, struct addrinfo **ret_list)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = listen ? AI_PASSIVE : 0 };
	int why = getaddrinfo(*at->host ? at->host : NULL, at->port, &hints, ret_list);

	if (!why)
		return 0;
	log_note("replay: look up %s: %s", *at->host ? at->host : "this host", gai_strerror(why));
	return -EADDRNOTAVAIL;
}

/* Set socket options: short messages are sent at once, and a host that vanishes is noticed. */
static void set_options(int fd)
{
	int on = 1, idle = 5, ms = 20 * SECOND;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* Listen for both families on one socket, unless an address is given. */
static int listen_at(const struct addrinfo *a, bool any)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1,
	    off = 0;
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (any && a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int open_listener(const struct meet_address *at)
{
	struct addrinfo *list = NULL;
	int fd = look_up_host(at, true, &list);

	if (fd)
		return fd;
	fd = -EADDRNOTAVAIL;
	for (int turn = 0; turn < 2 && fd < 0; turn++) /* first addresses that take both families */
		for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
			if (*at->host || (a->ai_family == AF_INET6) == !turn)
				fd = listen_at(a, !*at->host);
	freeaddrinfo(list);
	if (fd < 0)
		log_err(fd, "replay: listen at %s port %s", *at->host ? at->host : "any address",
			at->port);
	return fd;
}

static unsigned int port_of(const struct sockaddr_storage *at)
{
	return ntohs(at->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)at)->sin6_port
					       : ((const struct sockaddr_in *)at)->sin_port);
}

int meet_listen(const struct meet_address *at)
{
	struct sockaddr_storage own = { 0 };
	socklen_t length = sizeof(own);
	int fd = open_listener(at);

	if (fd < 0)
		return fd;
	getsockname(fd, (struct sockaddr *)&own, &length);
	log_note("replay: waiting for the other replay at %s port %u",
		 *at->host ? at->host : "any address", port_of(&own));
	return fd;
}

int meet_accept(int listener, char ret_name[MEET_NAME])
{
	struct sockaddr_storage its = { 0 };
	socklen_t length = sizeof(its);
	int fd = accept4(listener, (struct sockaddr *)&its, &length, SOCK_CLOEXEC);
	char host[INET6_ADDRSTRLEN] = "?";

	if (fd < 0)
		return -errno;
	set_options(fd);
	getnameinfo((struct sockaddr *)&its, length, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	snprintf(ret_name, MEET_NAME, "%s port %u", host, port_of(&its));
	return fd;
}

/* Like connect(), but not for longer than until @deadline. */
static int connect_until(const struct addrinfo *a, int64_t deadline)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;
	struct pollfd look = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(err);
	int64_t left = (deadline - wire_now()) / 1000000;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen)) {
		err = -errno;
		if (err == -EINPROGRESS)
			err = poll(&look, 1,
				   left < 0        ? 0
				   : left > SECOND ? SECOND
						   : (int)left) > 0
				      ? 0
				      : -ETIMEDOUT;
		if (!err && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length))
			err = -err;
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

int meet_connect(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd)
{
	struct addrinfo *list = NULL;
	int fd = look_up_host(at, false, &list);

	if (fd)
		return fd;
	fd = -ETIMEDOUT;
	while (fd < 0 && !ended()) {
		for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
			fd = connect_until(a, deadline);
		if (fd >= 0 || wire_now() > deadline)
			break;
		poll(NULL, 0, LOOK); /* the other replay may not listen yet: try again */
	}
	freeaddrinfo(list);
	if (fd < 0 && ended())
		return -ECANCELED;
	if (fd < 0)
		return log_err(fd,
			       "replay: no other replay listens at %s port %s: start it with "
			       "--listen on that host, or wait longer (--peer-wait)",
			       at->host, at->port);
	set_options(fd);
	*ret_fd = fd;
	return 0;
}
