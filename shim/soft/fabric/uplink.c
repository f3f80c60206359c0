/*
 * Finding the address of the network
 *
 * VERBATIM_SOFT_WIRE is an address or the name of an interface, whose first IPv4 address is taken,
 * or else its first IPv6 address that is not link-local. With ",all" at the end, pairs within the
 * fabric use the network, too.
 */
#include "shim/soft/fabric/uplink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/soft/fabric/profile.h"

enum { HEADERS = 40 + 8 + 12 + 4 + 28 + 4 + 4, ANY_PORT = 4791 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct uplink found;
static char wanted[100];  /* value of VERBATIM_SOFT_WIRE; empty: no network */
static const char *wrong; /* what is wrong with the variable; NULL: the address was found */

/*
 * The largest path MTU whose packets fit into a link MTU of @bytes, with the headers of IPv6 and
 * UDP and the longest headers of RoCE; 0: none.
 */
static enum ibv_mtu fit_mtu(uint32_t bytes)
{
	enum ibv_mtu mtu;

	for (mtu = IBV_MTU_4096; mtu && (128u << mtu) + HEADERS > bytes; mtu--)
		;
	return mtu;
}

static void map_ipv4(const struct in_addr *from, struct in6_addr *to)
{
	memset(to, 0, sizeof(*to));
	to->s6_addr[10] = to->s6_addr[11] = 0xff;
	memcpy(to->s6_addr + 12, from, sizeof(*from));
}

static bool read_address(const struct sockaddr *sa, struct in6_addr *to)
{
	if (!sa)
		return false;
	switch (sa->sa_family) {
	case AF_INET:
		map_ipv4(&((const struct sockaddr_in *)sa)->sin_addr, to);
		return true;
	case AF_INET6:
		*to = ((const struct sockaddr_in6 *)sa)->sin6_addr;
		return true;
	default:
		return false;
	}
}

static bool parse_address(const char *text, struct in6_addr *to)
{
	struct in_addr ipv4;

	if (inet_pton(AF_INET, text, &ipv4) != 1)
		return inet_pton(AF_INET6, text, to) == 1;
	map_ipv4(&ipv4, to);
	return true;
}

/* The rank of an address of an interface: the highest one is used; 0: it cannot be used. */
static int rank_address(const struct in6_addr *addr)
{
	if (IN6_IS_ADDR_V4MAPPED(addr))
		return 2;
	return IN6_IS_ADDR_LINKLOCAL(addr) ? 0 : 1;
}

static void choose_address(const struct ifaddrs *all, const struct in6_addr *exact)
{
	const struct ifaddrs *i;
	struct in6_addr addr;
	int rank, best = 0;

	for (i = all; i; i = i->ifa_next) {
		if (!read_address(i->ifa_addr, &addr))
			continue;
		if (exact)
			rank = !memcmp(&addr, exact, sizeof(addr)) ? 3 : 0;
		else
			rank = !strcmp(i->ifa_name, wanted) ? rank_address(&addr) : 0;
		if (rank <= best)
			continue;
		best = rank;
		found.addr = addr;
		snprintf(found.name, sizeof(found.name), "%s", i->ifa_name);
	}
	if (!best && exact)
		wrong = "is not an address of this machine";
	else if (!best)
		wrong = if_nametoindex(wanted) ? "has no address"
					       : "is not an interface of this machine";
}

static void query_interface(void)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(request.ifr_name, found.name, sizeof(request.ifr_name));
	found.index = if_nametoindex(found.name);
	if (fd < 0 || ioctl(fd, SIOCGIFMTU, &request) < 0)
		wrong = "cannot be queried";
	else
		found.mtu = fit_mtu(request.ifr_mtu);
	/* last, since the fields of a request share memory */
	if (!wrong && ioctl(fd, SIOCGIFHWADDR, &request) == 0)
		memcpy(found.mac, request.ifr_hwaddr.sa_data, sizeof(found.mac));
	if (!wrong && !found.mtu)
		wrong = "has an MTU that is too short";
	if (fd >= 0)
		close(fd);
}

static bool read_wanted(void)
{
	const char *value = getenv("VERBATIM_SOFT_WIRE");
	char *end;

	snprintf(wanted, sizeof(wanted), "%s", value ? value : "");
	end = strrchr(wanted, ',');
	found.all = end && !strcmp(end, ",all");
	if (found.all)
		*end = '\0';
	return *wanted;
}

static void find_uplink(void)
{
	struct in6_addr addr;
	struct ifaddrs *all;
	bool exact;

	if (!read_wanted())
		return;
	exact = parse_address(wanted, &addr);
	if (exact && IN6_IS_ADDR_LINKLOCAL(&addr))
		wrong = "is link-local";
	else if (profile_get()->num_ports)
		wrong = "cannot be used with the ports of VERBATIM_SOFT_PERSONA";
	else if (getifaddrs(&all) < 0)
		wrong = "cannot be looked up";
	if (wrong)
		return;
	choose_address(all, exact ? &addr : NULL);
	freeifaddrs(all);
	if (!wrong)
		query_interface();
}

const struct uplink *uplink_get(void)
{
	pthread_once(&once, find_uplink);
	return *wanted && !wrong ? &found : NULL;
}

const struct uplink *uplink_interface(void)
{
	static const struct uplink loopback = { .name = "lo", .index = 1 };
	const struct uplink *uplink = uplink_get();

	return uplink ? uplink : &loopback;
}

int uplink_check(void)
{
	static char said;
	char line[256];
	int n;

	uplink_get();
	if (!wrong)
		return 0;
	n = snprintf(line, sizeof(line), "verbatim-soft: VERBATIM_SOFT_WIRE=%.99s %s\n", wanted,
		     wrong);
	if (!__atomic_test_and_set(&said, __ATOMIC_RELAXED) && write(STDERR_FILENO, line, n) < 0)
		return -EINVAL;
	return -EINVAL;
}

static bool has_route(const struct in6_addr *to)
{
	struct sockaddr_in6 sa = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(ANY_PORT),
		.sin6_addr = *to,
	};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has;

	if (fd < 0) /* IPv6 is disabled: sending will report the error */
		return errno == EAFNOSUPPORT;
	has = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
	close(fd);
	return has;
}

bool uplink_reaches(const union ibv_gid *dgid)
{
	const struct uplink *uplink = uplink_get();
	struct in6_addr to;
	int saved = errno;
	bool reaches;

	if (!uplink)
		return false;
	memcpy(&to, dgid, sizeof(to));
	if (IN6_IS_ADDR_V4MAPPED(&to) != IN6_IS_ADDR_V4MAPPED(&uplink->addr) ||
	    IN6_IS_ADDR_MULTICAST(&to) || IN6_IS_ADDR_UNSPECIFIED(&to) ||
	    IN6_IS_ADDR_LINKLOCAL(&to))
		return false;
	reaches = has_route(&to);
	errno = saved;
	return reaches;
}
