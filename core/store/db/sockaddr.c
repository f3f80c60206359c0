/*
 * Network addresses as text
 */
#include "core/store/db/sockaddr.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* struct sockaddr_ib of <infiniband/ib.h> */
struct ib {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t service;
	uint64_t service_mask;
	uint64_t scope;
};

static void put_inet(const struct sockaddr_in *in, char *text)
{
	char ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
	snprintf(text, SOCKADDR_TEXT, "%s:%u", ip, ntohs(in->sin_port));
}

static void put_inet6(const struct sockaddr_in6 *in, char *text)
{
	char ip[INET6_ADDRSTRLEN], scope[16] = "";

	inet_ntop(AF_INET6, &in->sin6_addr, ip, sizeof(ip));
	if (in->sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", in->sin6_scope_id);
	snprintf(text, SOCKADDR_TEXT, "[%s%s]:%u", ip, scope, ntohs(in->sin6_port));
}

static void put_ib(const struct ib *ib, char *text)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, ib->gid, gid, sizeof(gid));
	snprintf(text, SOCKADDR_TEXT, "[%s]/0x%016" PRIx64, gid, be64toh(ib->service));
}

const char *sockaddr_text(const void *address, size_t n, char text[SOCKADDR_TEXT])
{
	union {
		uint16_t family;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct ib ib;
	} a;

	memset(&a, 0, sizeof(a));
	memcpy(&a, address, n < sizeof(a) ? n : sizeof(a));
	if (a.family == AF_INET && n >= sizeof(a.in))
		put_inet(&a.in, text);
	else if (a.family == AF_INET6 && n >= sizeof(a.in6))
		put_inet6(&a.in6, text);
	else if (a.family == AF_IB && n >= sizeof(a.ib))
		put_ib(&a.ib, text);
	else if (a.family == AF_UNSPEC)
		strcpy(text, "none");
	else
		snprintf(text, SOCKADDR_TEXT, "family %u", a.family);
	return text;
}
