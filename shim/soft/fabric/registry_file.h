#pragma once
/*
 * The layout of the registry's file, DIR/fabric:
 *
 *	+--------+-------------------+----------------+--------+-----+
 *	| header | nodes: pid, start | numbers: whose | groups | XRC |
 *	+--------+-------------------+----------------+--------+-----+
 *
 * Only registry.c changes the file. `verbatim attach` reads it from outside the fabric
 * (cli/attach/fabric.c), without a lock, so an entry may change meanwhile.
 */
#include <stdint.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/shared.h"

/*
 * Numbers of queue pairs and of shared receive queues are unique in the fabric. Each number belongs
 * to a slot of a process's segment, or of struct shm_xrc.
 */
enum registry_kind { REGISTRY_QP, REGISTRY_SRQ, REGISTRY_XRC_QP };

enum { REGISTRY_NUMBERS = 1 << 16 };

struct registry_number {
	uint32_t value; /* 0: free */
	uint16_t node;
	uint16_t slot;
	uint16_t kind; /* enum registry_kind */
	uint16_t generation;
};

/*
 * An address of a port of a process: a GID, or a LID together with all LIDs that have the same
 * upper bits (lmc). It becomes invalid when the process ends: see port.c.
 */
struct registry_address {
	uint64_t instance;
	uint32_t node;
	uint16_t lid; /* 0: the address is the GID */
	uint8_t lmc;
	uint8_t link_layer;
	union ibv_gid gid;
};

/* A queue pair attached to a multicast group. */
struct registry_member {
	union ibv_gid gid;
	uint32_t qpn; /* 0: a free entry, whatever the other fields contain */
	uint16_t lid;
	uint16_t node;
};

enum { REGISTRY_MEMBERS = 8192, REGISTRY_ADDRESSES = 1024 };

struct registry_members {
	uint32_t changes; /* number of changes; incremented after each change */
	struct registry_member at[REGISTRY_MEMBERS];
	uint32_t high_address; /* entries from this index on were never used */
	struct registry_address address[REGISTRY_ADDRESSES];
};

struct registry_file {
	uint64_t magic;
	uint32_t version;
	uint32_t made; /* the directory was created for the fabric, and is removed at the end */
	uint64_t instances;
	uint32_t processes; /* number of processes that have joined so far */
	uint32_t next_number;
	uint32_t high_number; /* entries from this index on were never used */
	struct node node[NODE_MAX];
	struct registry_number number[REGISTRY_NUMBERS];
	struct registry_members members;
	struct shm_xrc xrc; /* must be last: see registry_reserve_pages() */
};
