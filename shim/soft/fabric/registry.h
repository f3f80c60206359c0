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

/* Taken before the record lock of the file; also protects this process's mapping of the file. */
extern pthread_mutex_t registry_mutex;

/*
 * Find or create the directory, open the file and take its record lock. 0; or -errno, and then
 * nothing is open.
 */
int registry_open(bool *ret_made);

/* Map the registry. @made: the directory was created for it. 0 or -errno. */
int registry_map(bool made);

/* Unmap, unlock and close everything that is open. */
void registry_close(void);

/* Take and release only the record lock. Callers hold the mutex. */
void registry_lock_file(void);
void registry_unlock_file(void);

/*
 * Remove the file if no process is left; with @made also the directory, which was created for it.
 */
void registry_remove(bool made);

/*
 * Is the registry mapped? Was its directory created for it? Was the file empty when it was opened?
 */
bool registry_is_mapped(void);
bool registry_is_made(void);
bool registry_is_fresh(void);

/* A new instance number for this process, never reused. Callers hold the lock. */
uint64_t registry_new_instance(void);

/* How many processes joined earlier. Call it once per process, with the lock held. */
uint32_t registry_new_process(void);

/*
 * If no process is alive, and the fabric is not to be kept, count processes from 0 again. Callers
 * hold the lock.
 */
void registry_forget_processes(void);

/* Remove the entries of @node. Callers hold the lock. */
void registry_drop_node(uint32_t node);

/* In a child: close the file, which is not mapped in the child. */
void registry_forget(void);

/* A new number for @slot of this process. 0 or -ENOMEM. */
int registry_add_number(enum registry_kind kind, uint32_t slot, uint32_t *ret);
void registry_del_number(uint32_t number);

/* The next new number will be @number, which must be free. */
void registry_repeat_number(uint32_t number);

/*
 * Find the owner of @number: *@ret_peer is a reference to its process, for registry_put_peer(),
 * *@ret_slot its slot in that process. -ENOENT if no process has the number, or it is of another
 * kind.
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

/* Take and release the lock of the registry. registry_xrc(): data that it protects; see xrc.c. */
void registry_lock(void);
void registry_unlock(void);
struct shm_xrc *registry_xrc(void);
/* Allocate memory for a part of the XRC data before it is accessed: 0 or -ENOMEM. */
int registry_reserve_pages(const void *from, size_t len);
int registry_new_number(enum registry_kind kind, uint32_t slot, uint32_t *ret);
void registry_free_number(uint32_t number);

void registry_put_peer(struct peer *peer);

/* Lock the members of multicast groups: no other process changes them until they are unlocked. */
struct registry_members *registry_lock_members(void);
void registry_unlock_members(void);

/* How often these members have changed; needs no lock. */
uint32_t registry_member_changes(void);
