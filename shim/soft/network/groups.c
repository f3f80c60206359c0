/*
 * Joining multicast groups
 *
 * A socket that is bound to a group's address receives the packets to the group; each process of
 * the fabric receives a copy. Groups are left only when the engine ends: packets for a group
 * without attached queue pairs are dropped.
 */
#include "shim/soft/network/groups.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/soft/network/sockets.h"

static struct group {
	struct in6_addr addr;
	int fd;
} groups[GROUPS_MAX];
static unsigned int num_groups;

int groups_join(const struct in6_addr *addr)
{
	unsigned int i;
	int fd;

	for (i = 0; i < num_groups; i++)
		if (!memcmp(&groups[i].addr, addr, sizeof(*addr)))
			return 0;
	if (num_groups == GROUPS_MAX)
		return -ENOMEM;
	fd = sockets_open_group(addr);
	if (fd < 0)
		return fd;
	groups[num_groups++] = (struct group){ *addr, fd };
	return 0;
}

int groups_socket(unsigned int i, struct in6_addr *ret_addr)
{
	if (i >= num_groups)
		return -1;
	*ret_addr = groups[i].addr;
	return groups[i].fd;
}

void groups_close(void)
{
	while (num_groups)
		close(groups[--num_groups].fd);
}
