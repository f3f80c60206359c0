#pragma once
/*
 * The ports of all port spaces, and their owners: one table for the fabric. Any thread, in the
 * fabric.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/soft/cm/cm_addr.h"

enum { CM_REMOTE = -1 };

/* The sender or receiver of a message: an id in a process of the fabric, or on another machine. */
struct cm_name {
	uint64_t instance; /* instance number of the process in the fabric */
	/* node number of the process; CM_REMOTE: the id is on the machine at @away */
	uint32_t node;
	uint32_t serial;  /* number of the id at that end, never reused; 0: not known yet */
	uint8_t away[16]; /* GID of the machine, IPv4-mapped; else zeros */
};

static inline bool cm_name_is_remote(const struct cm_name *name)
{
	return name->node == (uint32_t)CM_REMOTE;
}

/* Are both ids in the same process, or on the same other machine? */
static inline bool cm_name_same_place(const struct cm_name *a, const struct cm_name *b)
{
	return a->node == b->node && a->instance == b->instance &&
	       !memcmp(a->away, b->away, sizeof(a->away));
}

struct cm_port {
	struct cm_name owner;
	struct cm_addr addr;
	uint16_t ps; /* enum rdma_ucm_port_space; 0: free */
	uint8_t reuse;
	uint8_t afonly;   /* a wildcard address stands for its own address family only */
	uint32_t backlog; /* backlog of a listener; else 0 */
	uint32_t waiting; /* number of requests that were not delivered yet */
};

/*
 * Add @want. If its port is 0, a port is chosen and stored in @want. -EADDRINUSE as from the
 * kernel; -EADDRNOTAVAIL if no port is free.
 */
int cm_port_bind(struct cm_port *want, uint32_t *ret_slot);
void cm_port_release(uint32_t slot, const struct cm_name *owner);

/* Change how other owners may share the port. */
void cm_port_share(uint32_t slot, const struct cm_name *owner, bool reuse, bool afonly);

/* Make the owner of @slot a listener. -EADDRINUSE if other owners share the address by reuse. */
int cm_port_listen(uint32_t slot, const struct cm_name *owner, uint32_t backlog);

/*
 * Send a request to the listener at @addr: @send is called while the table is locked, and its
 * result is returned. -ENOENT: there is no listener; -ENOSPC: the backlog is full.
 */
int cm_port_request(uint16_t ps, const struct cm_addr *addr,
		    int (*send)(const struct cm_name *to, void *arg), void *arg);

/* A request of the listener was delivered to its program, or dropped. */
void cm_port_note_accepted(uint32_t slot, const struct cm_name *owner);

/*
 * Unmap the table when the last channel is closed; in a child, where it is not mapped, forget it.
 */
void cm_port_close(void);
void cm_port_forget(void);
