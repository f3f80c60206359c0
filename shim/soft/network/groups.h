#pragma once
/*
 * Multicast groups of the wire: a socket for each that a queue pair of this process was attached
 * to. All with the lock of the engine held.
 */
#include <netinet/in.h>

enum { GROUPS_MAX = 32 };

/* Receive what is sent to the group at @addr, from now on. 0 or -errno. */
int groups_join(const struct in6_addr *addr);

/* The socket of group @i and its address; -1: there is none. */
int groups_socket(unsigned int i, struct in6_addr *ret_addr);

void groups_close(void);
