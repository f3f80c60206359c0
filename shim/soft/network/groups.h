#pragma once
/*
 * Multicast groups on the network: a socket for each group to which a queue pair of this process
 * was attached. Callers hold the lock of the engine.
 */
#include <netinet/in.h>

enum { GROUPS_MAX = 32 };

/* From now on, receive the packets to the group at @addr. 0 or -errno. */
int groups_join(const struct in6_addr *addr);

/* The socket of group @i, and its address; -1: there is no such group. */
int groups_socket(unsigned int i, struct in6_addr *ret_addr);

void groups_close(void);
