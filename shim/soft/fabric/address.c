/*
 * Addresses of the ports of each process
 *
 * A process with a profile of its own (profile.h) writes their LIDs and GIDs to a table of the
 * fabric. Entries are never removed: an entry is valid while the instance that wrote it is alive,
 * and free afterwards.
 */
#include "shim/soft/fabric/address.h"

#include "shim/soft/fabric/node.h"

static bool is_good(const struct registry_address *address)
{
	return address->instance && node_has(address->node, address->instance);
}

void address_add(const struct registry_address *address)
{
	struct registry_members *members = registry_lock_members();
	uint32_t i;

	for (i = 0; i < REGISTRY_ADDRESSES && is_good(&members->address[i]); i++)
		;
	if (i < REGISTRY_ADDRESSES) {
		members->address[i] = *address;
		members->address[i].node = node_self.node;
		members->address[i].instance = node_self.instance;
		if (members->high_address <= i)
			members->high_address = i + 1;
	}
	registry_unlock_members();
}

bool address_find(bool (*match)(const struct registry_address *address, const void *arg),
		  const void *arg)
{
	const struct registry_members *members = registry_lock_members();
	bool found = false;
	uint32_t i;

	for (i = 0; i < members->high_address && i < REGISTRY_ADDRESSES; i++) {
		found = match(&members->address[i], arg) && is_good(&members->address[i]);
		if (found)
			break;
	}
	registry_unlock_members();
	return found;
}
