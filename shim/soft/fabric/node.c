/*
 * The nodes of the fabric: its processes, and whether each is alive
 *
 * A process is identified by its index in the table and by an instance, a number that no other
 * process of this fabric ever gets. Indices are reused.
 */
#include "shim/soft/fabric/node.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/soft/fabric/process.h"

struct node_id node_self;
struct node *node_table;

bool node_lives(const struct node *node)
{
	return node->pid && process_lives(node->pid, node->start);
}

uint32_t node_owner(uint32_t node, uint64_t instance)
{
	return 1u << 31 | (instance & 0x1fffff) << NODE_BITS | node;
}

bool node_owner_lives(uint32_t owner)
{
	uint32_t node = owner % NODE_MAX;

	return node_table && owner == node_owner(node, node_table[node].instance) &&
	       node_lives(&node_table[node]);
}

bool node_owner_is_stopped(uint32_t owner)
{
	uint32_t node = owner % NODE_MAX;

	return node_table && owner == node_owner(node, node_table[node].instance) &&
	       process_is_stopped(node_table[node].pid);
}

/* The entry of the process, if it is alive, or NULL. */
static const struct node *find_node(uint32_t node, uint64_t instance)
{
	const struct node *found;

	if (!node_table || node >= NODE_MAX)
		return NULL;
	found = &node_table[node];
	return found->instance == instance && node_lives(found) ? found : NULL;
}

bool node_has(uint32_t node, uint64_t instance)
{
	return find_node(node, instance);
}

bool node_is_registered(uint32_t node, uint64_t instance)
{
	return node < NODE_MAX && node_table[node].pid && node_table[node].instance == instance;
}

int node_pidfd(uint32_t node, uint64_t instance)
{
	const struct node *found = find_node(node, instance);
	int pidfd;

	if (!found)
		return -ESRCH;
	pidfd = syscall(SYS_pidfd_open, found->pid, 0);
	if (pidfd < 0)
		return -errno;
	/* check again: the pid may have been reused meanwhile */
	if (find_node(node, instance))
		return pidfd;
	close(pidfd);
	return -ESRCH;
}
