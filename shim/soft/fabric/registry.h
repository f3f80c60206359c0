#pragma once
/*
 * The registry of the fabric: one file that all its processes map, with the shared state of the
 * fabric. Any thread, unless a comment says otherwise.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/soft/fabric/peer.h"
#include "shim/soft/fabric/registry_file.h"

/* Taken before the record lock of the file; also guards this process's mapping of it. */
extern pthread_mutex_t registry_mutex;

/*
 * Find or create the directory, open the file and take its record lock. 0 or -errno, with nothing
 * left open.
 */
int registry_open(bool *ret_made);

/* Map it. @made: its directory was created for it. 0 or -errno. */
int registry_map(bool made);

/* Unmap, unlock and close everything that is open. */
void registry_close(void);

/* The record lock only; call it with the mutex held. */
void registry_lock_file(void);
void registry_unlock_file(void);

/* Remove the file if no process is left; @made: and the directory, which was created for it. */
void registry_remove(bool made);

/* Is it mapped, was its directory created for it, and was the file empty when it was opened? */
bool registry_is_mapped(void);
bool registry_is_made(void);
bool registry_is_fresh(void);

/* A new instance number for this process, never reused; call it with the lock held. */
uint64_t registry_new_instance(void);

/* The number of processes that joined earlier. Call it once in a process, with the lock held. */
uint32_t registry_new_process(void);

/* If no process is alive, count from 0 again, unless the fabric is kept; with the lock held. */
void registry_forget_processes(void);

/* Remove the entries of @node; with the lock held. */
void registry_drop_node(uint32_t node);

/* In a child: close the file, which is not mapped in the child. */
void registry_forget(void);

/* A number for @slot of this process, or -ENOMEM. */
int registry_add_number(enum registry_kind kind, uint32_t slot, uint32_t *ret);
void registry_del_number(uint32_t number);

/* Make @number, which must be free, the next new number. */
void registry_repeat_number(uint32_t number);

/*
 * Find the owner of @number: a reference to its process, for registry_put_peer(), and the slot in
 * it; -ENOENT if no process has it, or if it is of another kind.
 */
int registry_find_number(enum registry_kind kind, uint32_t number, struct peer **ret_peer,
			 uint32_t *ret_slot);
static inline int registry_find_qp(uint32_t qpn, struct peer **ret_peer, uint32_t *ret_qp)
{
	return registry_find_number(REGISTRY_QP, qpn, ret_peer, ret_qp);
}
/* The process that has @number, without a reference to its segment. 0 or -ENOENT. */
int registry_find_owner(enum registry_kind kind, uint32_t number, uint32_t *ret_node,
			uint64_t *ret_instance);
/* The slot of an XRC receive queue pair, which no single process owns. */
int registry_find_xrc(uint32_t qpn, uint32_t *ret_slot);

/* The lock of the registry, and the data that it protects; see xrc.c. */
void registry_lock(void);
void registry_unlock(void);
struct shm_xrc *registry_xrc(void);
/* Allocate memory for a part of the XRC data before it is accessed: 0 or -ENOMEM. */
int registry_back_pages(const void *from, size_t len);
int registry_new_number(enum registry_kind kind, uint32_t slot, uint32_t *ret);
void registry_free_number(uint32_t number);

void registry_put_peer(struct peer *peer);

/* No process of the fabric changes the members until they are unlocked. */
struct registry_members *registry_lock_members(void);
void registry_unlock_members(void);

/* How often the members have changed; needs no lock. */
uint32_t registry_member_changes(void);
