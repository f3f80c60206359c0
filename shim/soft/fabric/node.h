#pragma once
/*
 * The nodes of the fabric: its processes, each with an entry in a shared table.
 *
 * Any thread. The table is in the registry's file (registry.c).
 */
#include <stdbool.h>
#include <stdint.h>

enum { NODE_BITS = 10, NODE_MAX = 1 << NODE_BITS };

struct node {
	uint64_t start;
	uint64_t instance;
	int32_t pid; /* 0: free */
	uint32_t unused;
};

/* The owner of a segment or a pipe. It is in private memory, which peers cannot write. */
struct node_id {
	uint32_t node;
	uint64_t instance; /* a number that is never used again */
};

extern struct node_id node_self;

/* NULL while the file is not mapped. */
extern struct node *node_table;

bool node_lives(const struct node *node);

/* Is the process that wrote @owner into a lock still alive? See node_owner(). */
bool node_owner_lives(uint32_t owner);

/* Is that process stopped? */
bool node_owner_is_stopped(uint32_t owner);

/* The word that a process writes into the locks it takes; never 0. */
uint32_t node_owner(uint32_t node, uint64_t instance);

/* Is the process with this index and instance alive? */
bool node_has(uint32_t node, uint64_t instance);

/* Is that process in the table, alive or dead? */
bool node_is_registered(uint32_t node, uint64_t instance);

/* A descriptor that becomes readable when that process ends; -ESRCH if it has ended, or -errno. */
int node_pidfd(uint32_t node, uint64_t instance);
