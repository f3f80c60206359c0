#pragma once
/*
 * Peers' segments, mapped while a queue pair is connected to them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* A peer's segment in our address space; possibly our own. */
struct peer {
	struct shm_seg *seg;
	int pid;
	uint64_t start; /* of the process, in clock ticks */
	uint32_t node;
	uint64_t instance;
	uint32_t refs;
	uint32_t forbidden; /* the kernel refuses process_vm on it */
	uint32_t dead;      /* it was detected as dead; never reset */
	uint64_t looked;    /* time of the last check, coarse ns */
};

/* Was the peer alive some milliseconds ago? Cheap. Any thread. */
bool peer_is_alive(struct peer *peer);
/* The same, by asking the kernel now. */
bool peer_check_alive(struct peer *peer);

/* The other functions need registry_mutex. */
int peer_get(uint32_t node, int pid, uint64_t start, uint64_t instance, struct peer **ret_peer);
void peer_put(struct peer *peer);

/* Unmap all; in a child, where nothing is mapped, clear the list. */
void peer_forget(void);
void peer_forget_inherited(void);
