#pragma once
/*
 * The ports of all port spaces, and their owners: one table for the fabric. Any thread, in the
 * fabric.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/soft/cm/cm_addr.h"

enum { CM_AWAY = -1 };

/* The sender or receiver of a message: an id of a process, or of another machine. */
struct cm_name {
	uint64_t instance; /* of the process in the fabric */
	uint32_t node;     /* of the process; CM_AWAY: on the machine at @away */
	uint32_t serial;   /* of the id at that end, never reused; 0: not known yet */
	uint8_t away[16];  /* IPv4 mapped; else zeros */
};

static inline bool cm_name_is_away(const struct cm_name *name)
{
	return name->node == (uint32_t)CM_AWAY;
}

/* Are both in the same process, or on the same other machine? */
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
	uint8_t afonly;   /* a wildcard of its own address family only */
	uint32_t backlog; /* of a listener, else 0 */
	uint32_t waiting; /* requests that were not delivered yet */
};

/*
 * Add @want. If its port is 0, one is chosen and stored there. -EADDRINUSE like the kernel,
 * -EADDRNOTAVAIL if no port is free.
 */
int cm_port_bind(struct cm_port *want, uint32_t *ret_slot);
void cm_port_release(uint32_t slot, const struct cm_name *owner);

/* Change the ways in which the port may be shared. */
void cm_port_share(uint32_t slot, const struct cm_name *owner, bool reuse, bool afonly);

/* -EADDRINUSE if other owners share the address by reuse. */
int cm_port_listen(uint32_t slot, const struct cm_name *owner, uint32_t backlog);

/*
 * Send a request to the listener at @addr: @send is called while the table is locked, and its
 * result returned. -ENOENT: there is no listener; -ENOSPC: the backlog is full.
 */
int cm_port_request(uint16_t ps, const struct cm_addr *addr,
		    int (*send)(const struct cm_name *to, void *arg), void *arg);

/* A request was delivered to the program, or dropped. */
void cm_port_accepted(uint32_t slot, const struct cm_name *owner);

/* Unmap the table, with the last channel; in a child, where it is not mapped: forget it. */
void cm_port_close(void);
void cm_port_forget(void);
