#pragma once
/*
 * Whose ports can be reached under which addresses. Any thread.
 */
#include "shim/soft/fabric/registry.h"

/*
 * Tell all processes of one of ours. Those that everybody has anyway need not
 * be told. Lost when there are more than the table holds.
 */
void address_add(const struct registry_address *address);

/* Has anybody who is there told of one that matches? */
bool address_find(bool (*match)(const struct registry_address *address, const void *arg),
		  const void *arg);
