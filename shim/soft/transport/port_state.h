#pragma once
/*
 * Taking ports down, and up again, on demand. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/shared.h"

/*
 * Change the state of a port. All contexts of this process get an event. Peers notice since no
 * message leaves or reaches a queue pair on a port that is down. IBV_PORT_DOWN lasts for @ns; 0:
 * until the port is set up again.
 */
void port_change(uint8_t port, enum ibv_port_state state, uint64_t ns);

/* Is @port down in the process whose segment is @seg? */
static inline bool port_is_blocked(const struct shm_seg *seg, uint8_t port)
{
	return unlikely(__atomic_load_n(&seg->ports_down, __ATOMIC_RELAXED)) &&
	       __atomic_load_n(&seg->ports_down, __ATOMIC_RELAXED) >> (port & 31) & 1;
}

/* Send an event of the port, or of the device, to all contexts. */
void port_notify(uint8_t port, enum ibv_event_type type);
