#pragma once
/*
 * Whose ports can be reached under which addresses. Any thread.
 */
#include "shim/soft/fabric/registry.h"

/*
 * Publish one of our addresses. The default ones need no entry. A full table drops the address.
 */
void address_add(const struct registry_address *address);

/* Has a living process published an address that matches? */
bool address_find(bool (*match)(const struct registry_address *address, const void *arg),
		  const void *arg);
