#pragma once
/*
 * The network of the port ("wire"): an IP address of this machine, by which its queue pairs reach
 * other machines (VERBATIM_SOFT_WIRE). Any thread.
 */
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct uplink {
	struct in6_addr addr; /* IPv4-mapped, or IPv6; also the port's GID */
	char name[IF_NAMESIZE];
	uint32_t index; /* index of the interface */
	uint8_t mac[6];
	enum ibv_mtu mtu;
	bool all; /* queue pairs within the fabric use it, too */
};

/* The network of the port; NULL: none. */
const struct uplink *uplink_get(void);

/* The interface of the port; without a network, the loopback interface. */
const struct uplink *uplink_interface(void);

/* 0; or -EINVAL, with one line on stderr: VERBATIM_SOFT_WIRE names no address of this machine. */
int uplink_check(void);

/* Can the network reach a machine with GID @dgid: does the kernel have a route? */
bool uplink_reaches(const union ibv_gid *dgid);
