/*
 * IP addresses as names of processes on one machine
 *
 * All processes of a fabric are on this machine, so an address is valid if an interface of the
 * machine has it. No socket is opened to find out: programs and other preloads interpose those
 * functions.
 */
#include "shim/soft/cm/cm_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

static size_t size_of(int family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

int cm_addr_from_sockaddr(struct cm_addr *addr, const void *sockaddr, size_t size)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	if (size < sizeof(family))
		return -EINVAL;
	memcpy(&family, sockaddr, sizeof(family));
	if (!size_of(family))
		return -EAFNOSUPPORT;
	if (size < size_of(family))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	addr->family = family;
	if (family == AF_INET) {
		memcpy(&in, sockaddr, sizeof(in));
		addr->port = in.sin_port;
		memcpy(addr->ip, &in.sin_addr, sizeof(in.sin_addr));
		return 0;
	}
	memcpy(&in6, sockaddr, sizeof(in6));
	addr->port = in6.sin6_port;
	addr->scope = in6.sin6_scope_id;
	memcpy(addr->ip, &in6.sin6_addr, sizeof(in6.sin6_addr));
	return 0;
}

size_t cm_addr_to_sockaddr(const struct cm_addr *addr, void *sockaddr, size_t size)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = addr->port,
				    .sin6_scope_id = addr->scope };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = addr->port };
	size_t len = size_of(addr->family);

	memset(sockaddr, 0, size);
	memcpy(&in.sin_addr, addr->ip, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, addr->ip, sizeof(in6.sin6_addr));
	if (len <= size)
		memcpy(sockaddr, addr->family == AF_INET ? (void *)&in : &in6, len);
	return len;
}

bool cm_addr_is_any(const struct cm_addr *addr)
{
	static const uint8_t zero[sizeof(addr->ip)];

	return !memcmp(addr->ip, zero, sizeof(zero));
}

bool cm_addr_is_multicast(const struct cm_addr *addr)
{
	return addr->family == AF_INET ? (addr->ip[0] & 0xf0) == 0xe0 : addr->ip[0] == 0xff;
}

bool cm_addr_has_same_ip(const struct cm_addr *a, const struct cm_addr *b)
{
	return a->family == b->family && !memcmp(a->ip, b->ip, sizeof(a->ip)) &&
	       (!a->scope || !b->scope || a->scope == b->scope);
}

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

void cm_addr_to_gid(const struct cm_addr *addr, uint8_t gid[16])
{
	bool ipv4 = addr->family == AF_INET;

	if (ipv4)
		memcpy(gid, mapped, sizeof(mapped));
	memcpy(ipv4 ? gid + sizeof(mapped) : gid, addr->ip, ipv4 ? 4 : 16);
}

void cm_addr_set_ip(struct cm_addr *addr, const uint8_t gid[16])
{
	bool ipv4 = !memcmp(gid, mapped, sizeof(mapped));

	memset(addr->ip, 0, sizeof(addr->ip));
	addr->family = ipv4 ? AF_INET : AF_INET6;
	memcpy(addr->ip, ipv4 ? gid + sizeof(mapped) : gid, ipv4 ? 4 : 16);
}

bool cm_addr_is_loopback(const struct cm_addr *addr)
{
	return addr->family == AF_INET && addr->ip[0] == 127;
}

static bool is_on_interface(const struct cm_addr *addr, const struct ifaddrs *interface)
{
	struct cm_addr have;

	return interface->ifa_addr &&
	       !cm_addr_from_sockaddr(&have, interface->ifa_addr,
				      size_of(interface->ifa_addr->sa_family)) &&
	       cm_addr_has_same_ip(addr, &have);
}

bool cm_addr_is_local(const struct cm_addr *addr)
{
	struct ifaddrs *list, *interface;
	bool found = cm_addr_is_loopback(addr);

	if (found || getifaddrs(&list) < 0)
		return found;
	for (interface = list; interface && !found; interface = interface->ifa_next)
		found = is_on_interface(addr, interface);
	freeifaddrs(list);
	return found;
}

void cm_addr_set_source(struct cm_addr *src, const struct cm_addr *dst)
{
	static const uint8_t localhost[] = { 127, 0, 0, 1 };
	uint16_t port = src->port;

	*src = *dst;
	src->port = port;
	/* the source of all of 127.0.0.0/8 is its first address */
	if (cm_addr_is_loopback(dst))
		memcpy(src->ip, localhost, sizeof(localhost));
}
