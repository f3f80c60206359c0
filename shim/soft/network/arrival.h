#pragma once
/*
 * Joining packets from the middle of a message that arrive together, so that they are processed as
 * one.
 *
 * A message of 1 MiB has a thousand packets. Not joined, each packet would be copied by a separate
 * system call.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/network/network_qp.h"

/* May further packets be joined to this one? */
bool arrival_is_middle(const struct arrival *a);

/*
 * Join @next to @a if it follows the last packet of @a, in the message and in memory. Returns true
 * if joined.
 */
bool arrival_join(struct arrival *a, const struct arrival *next);

/* Packet @i of the joined packets @a. */
struct arrival arrival_part(const struct arrival *a, uint32_t i);

/* The payload of all packets of @a. */
struct copy_list arrival_payload(const struct arrival *a);
