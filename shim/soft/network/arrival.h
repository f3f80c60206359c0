#pragma once
/*
 * Packets of the middle of a message that arrive together, as one.
 *
 * A message of 1 MiB has a thousand packets. Without this, each would be copied by a system call of
 * its own.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/network/network_qp.h"

/* May a packet be the first of several? */
bool arrival_is_middle(const struct arrival *a);

/* Add @next to @a, if it follows its last packet in the message and in memory. Returns whether. */
bool arrival_join(struct arrival *a, const struct arrival *next);

/* Packet @i of @a alone. */
struct arrival arrival_part(const struct arrival *a, uint32_t i);

/* The payload of all packets. */
struct copy_list arrival_payload(const struct arrival *a);
