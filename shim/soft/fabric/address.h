#pragma once
/*
 * Addresses of the ports of each process. Any thread.
 */
#include "shim/soft/fabric/registry.h"

/*
 * Publish an address of this process. The default ones need no entry. If the table is full the
 * address is dropped.
 */
void address_add(const struct registry_address *address);

/* Has a living process published an address that matches? */
bool address_find(bool (*match)(const struct registry_address *address, const void *arg),
		  const void *arg);
