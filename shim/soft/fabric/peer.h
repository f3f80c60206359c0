#pragma once
/*
 * Peers' segments, mapped while a queue pair talks to them. fabric.c calls
 * these under its mutex; nobody else does.
 */
#include "shim/soft/fabric/fabric.h"

/* Map the segment in @fd. */
int peer_map(int fd, struct shm_seg **ret_seg);

int peer_get(uint32_t node, int pid, uint64_t start, uint64_t instance,
	     struct fabric_peer **ret_peer);
void peer_put(struct fabric_peer *peer);

/* Unmap all; and in a child, where nothing is mapped, drop the list. */
void peer_forget(void);
void peer_forget_inherited(void);
