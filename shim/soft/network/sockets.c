/*
 * Opening the sockets
 *
 * The processes of a fabric share the UDP port of RoCE (SO_REUSEPORT). The first one binds it
 * exclusively: so if another program uses the port, such as another fabric or the kernel's
 * Soft-RoCE, there is an error, instead of the loss of half of the packets. The kernel distributes
 * packets by flows, not by queue pairs: handover.c.
 *
 * Packets may not be fragmented, and the socket that sends is not connected: so the kernel gives
 * them the identification 0, which their ICRC covers.
 */
#include "shim/soft/network/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/soft/fabric/uplink.h"
#include "shim/soft/wire/header.h"

enum {
	BUFFER = 8 << 20,    /* bytes; the kernel allows less */
	HOPS = 64,           /* hop limit of packets to groups */
	FLOW_PORTS = 0xc000, /* first source port (annex A17.9.2) */
};

static int receiving = -1, sending = -1;
static uint16_t source_port;

int sockets_receive_fd(void)
{
	return receiving;
}

int sockets_send_fd(void)
{
	return sending;
}

uint16_t sockets_source_port(void)
{
	return source_port;
}

static socklen_t make_address(const struct in6_addr *addr, uint32_t scope, uint16_t port,
			      struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*in6));
	if (IN6_IS_ADDR_V4MAPPED(addr)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, addr->s6_addr + 12, sizeof(in->sin_addr));
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_addr = *addr;
	in6->sin6_scope_id = scope;
	return sizeof(*in6);
}

socklen_t sockets_address(const struct in6_addr *addr, struct sockaddr_storage *to)
{
	return make_address(addr, 0, HEADER_UDP_PORT, to);
}

static void set_option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

static void set_options(int fd, int family)
{
	if (family == AF_INET6) {
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		set_option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	} else {
		set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		set_option(fd, IPPROTO_IP, IP_RECVTTL, 1);
	}
	set_option(fd, SOL_SOCKET, SO_SNDBUF, BUFFER);
	set_option(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
	set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER);
	set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER);
}

/* Open a socket that is bound to @port of address @at. Returns it, or -errno. */
static int open_socket(const struct in6_addr *at, uint16_t port, bool shared)
{
	struct sockaddr_storage addr;
	socklen_t len = make_address(at, 0, port, &addr);
	int fd = socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	set_options(fd, addr.ss_family);
	set_option(fd, SOL_SOCKET, SO_REUSEPORT, shared);
	if (bind(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int open_receiving(bool shared)
{
	int fd = open_socket(&uplink_get()->addr, HEADER_UDP_PORT, shared);

	if (fd >= 0) {
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
		set_option(fd, IPPROTO_UDP, UDP_GRO, 1);
	}
	return fd;
}

/*
 * Choose the interface by which packets to groups on other machines leave; this machine has its
 * copy already.
 */
static void choose_interface(int fd)
{
	struct ip_mreqn to = { .imr_ifindex = uplink_get()->index };

	if (IN6_IS_ADDR_V4MAPPED(&uplink_get()->addr)) {
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &to, sizeof(to));
		set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
		set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOPS);
	} else {
		set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, uplink_get()->index);
		set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
		set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS);
	}
}

/*
 * Open the sending socket. Its port is derived from the pid; if another process has this port, any
 * other one.
 */
static int open_sending(void)
{
	uint16_t port = FLOW_PORTS | ((uint32_t)getpid() * 2654435761u >> 18);
	int fd = open_socket(&uplink_get()->addr, port, false);

	if (fd < 0)
		fd = open_socket(&uplink_get()->addr, 0, false);
	if (fd >= 0)
		choose_interface(fd);
	return fd;
}

static int join_group(int fd, const struct in6_addr *addr)
{
	struct ipv6_mreq six = { *addr, uplink_get()->index };
	struct ip_mreqn four = { .imr_ifindex = uplink_get()->index };
	int err;

	memcpy(&four.imr_multiaddr, addr->s6_addr + 12, sizeof(four.imr_multiaddr));
	err = IN6_IS_ADDR_V4MAPPED(addr)
		      ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four))
		      : setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof(six));
	return err < 0 ? -errno : 0;
}

int sockets_open_group(const struct in6_addr *addr)
{
	int fd = open_socket(addr, HEADER_UDP_PORT, true), err;

	if (fd < 0)
		return fd;
	err = join_group(fd, addr);
	if (!err)
		return fd;
	close(fd);
	return err;
}

void sockets_report_error(int err)
{
	char line[160];
	int n;

	n = snprintf(line, sizeof(line), "verbatim-soft: UDP port %d of %s: %s\n", HEADER_UDP_PORT,
		     uplink_get()->name,
		     err == -EADDRINUSE
			     ? "another program, another fabric or the kernel's Soft-RoCE has it"
			     : strerror(-err));
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

static void learn_port(void)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(sending, (struct sockaddr *)&addr, &len) == 0)
		source_port = ntohs(((struct sockaddr_in *)&addr)->sin_port);
}

int sockets_open(bool shared)
{
	int err;

	if (receiving >= 0)
		return 0;
	err = open_receiving(shared);
	if (err >= 0) {
		receiving = err;
		err = sending = open_sending();
	}
	if (err < 0) {
		sockets_close();
		return err;
	}
	learn_port();
	return 0;
}

void sockets_close(void)
{
	if (receiving >= 0)
		close(receiving);
	if (sending >= 0)
		close(sending);
	receiving = sending = -1;
}
