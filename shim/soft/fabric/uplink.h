#pragma once
/*
 * The wire of the port: an IP address of this machine, by which queue pairs reach those of other
 * machines (VERBATIM_SOFT_WIRE). Any thread.
 */
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct uplink {
	struct in6_addr addr; /* IPv4 mapped; also the port's GID */
	char name[IF_NAMESIZE];
	uint32_t index; /* of the interface */
	uint8_t mac[6];
	enum ibv_mtu mtu;
	bool all; /* even pairs within the fabric use it */
};

/* NULL: the port has none. */
const struct uplink *uplink_get(void);

/* The interface that belongs to the port; without a wire, the loopback interface. */
const struct uplink *uplink_interface(void);

/* 0; or -EINVAL, and one line on stderr: the variable names no address of this machine. */
int uplink_check(void);

/* Can a machine with GID @dgid be reached by the wire: does the kernel have a route? */
bool uplink_reaches(const union ibv_gid *dgid);
