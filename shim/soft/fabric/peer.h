#pragma once
/*
 * Peers' segments, mapped while a queue pair is connected to them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* A peer's segment in our address space; the peer may be this process itself. */
struct peer {
	struct shm_seg *seg;
	int pid;
	uint64_t start; /* start time of the process, in clock ticks */
	uint32_t node;
	uint64_t instance;
	uint32_t refs;
	uint32_t forbidden; /* the kernel refuses process_vm calls on the process */
	uint32_t dead;      /* the process was found dead; never reset */
	uint64_t looked;    /* time of the last check, coarse ns */
};

/* Was the peer alive some milliseconds ago? This costs little. Any thread. */
bool peer_is_alive(struct peer *peer);
/* Is the peer alive? This asks the kernel. */
bool peer_check_alive(struct peer *peer);

/* Callers of the other functions hold registry_mutex. */
int peer_get(uint32_t node, int pid, uint64_t start, uint64_t instance, struct peer **ret_peer);
void peer_put(struct peer *peer);

/* Unmap all segments; in a child, where none is mapped, clear the list. */
void peer_forget(void);
void peer_forget_inherited(void);
