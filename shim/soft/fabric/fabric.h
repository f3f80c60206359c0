#pragma once
/*
 * The fabric: a private directory under the shared memory file system in
 * which processes meet.
 *
 * Any thread may call these, unless a comment says otherwise.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* This process's own segment, NULL until it has joined. */
extern struct shm_seg *fabric_seg;

/* Whose a segment or a pipe is. Of ours, not what peers can write. */
struct fabric_id {
	uint32_t	node;
	uint64_t	instance;	/* never used again */
};

extern struct fabric_id fabric_self;

/* A peer's segment in our address space; possibly our own. */
struct fabric_peer {
	struct shm_seg	*seg;
	int		pid;
	uint64_t	start;		/* of the process, in clock ticks */
	uint32_t	node;
	uint64_t	instance;
	uint32_t	refs;
	uint32_t	forbidden;	/* process_vm: the kernel refuses */
	uint32_t	dead;		/* found out; never taken back */
	uint64_t	looked;		/* when it was last looked at, coarse ns */
};

/*
 * Take part in the fabric. Counted: the last fabric_leave() removes what
 * this process has put there. 0 or -errno: -EPERM means that the directory
 * is somebody else's, or open to others.
 */
int fabric_join(void);
void fabric_leave(void);

/* The process ends: the same, but other threads may still look at segments. */
void fabric_exit(void);

/* Forget everything inherited, in a child that was forked. */
void fabric_forget(void);

/* Give the file of @seg room at [@off, @off + @len). 0 or -ENOMEM. */
int fabric_reserve(struct shm_seg *seg, uint64_t off, uint64_t len);

/* Does the owner of a lock still live? */
bool fabric_alive(uint32_t owner);

/* The same of just this process, which is on @node. */
bool fabric_has(uint32_t node, uint64_t instance);

/*
 * A descriptor that becomes readable when that process ends; -ESRCH if it
 * has, or -errno.
 */
int fabric_pidfd(uint32_t node, uint64_t instance);

/*
 * Numbers of queue pairs and of shared receive queues are unique in the
 * fabric. Each is a slot's: of a process's segment, or of struct shm_xrc.
 */
enum fabric_kind { FABRIC_QP, FABRIC_SRQ, FABRIC_XRC_QP };

/* A number for @slot of ours, or -ENOMEM. */
int fabric_add_number(enum fabric_kind kind, uint32_t slot, uint32_t *ret);
void fabric_del_number(uint32_t number);

/*
 * Whose is @number? A reference to its process, to be given to fabric_put(),
 * and the slot there; -ENOENT if it is nobody's, or of another kind.
 */
int fabric_find_number(enum fabric_kind kind, uint32_t number,
		       struct fabric_peer **ret_peer, uint32_t *ret_slot);
static inline int fabric_find(uint32_t qpn, struct fabric_peer **ret_peer,
			      uint32_t *ret_qp)
{
	return fabric_find_number(FABRIC_QP, qpn, ret_peer, ret_qp);
}
/* The slot of an XRC receive queue pair, which is no process's. */
int fabric_find_xrc(uint32_t qpn, uint32_t *ret_slot);

/* The fabric's lock, and what changes under it only; see xrc.c. */
void fabric_lock(void);
void fabric_unlock(void);
struct shm_xrc *fabric_xrc(void);
/* Memory for a part of it, before it is touched: 0 or -ENOMEM. */
int fabric_back(const void *from, size_t len);
int fabric_new_number(enum fabric_kind kind, uint32_t slot, uint32_t *ret);
void fabric_free_number(uint32_t number);

void fabric_put(struct fabric_peer *peer);

/*
 * Where a port of a process can be reached: a LID with those that share its
 * upper bits, or a GID. Nobody's if that process is no more: see address.h.
 */
struct fabric_address {
	uint64_t	instance;
	uint32_t	node;
	uint16_t	lid;		/* 0: the GID */
	uint8_t		lmc;
	uint8_t		link_layer;
	union ibv_gid	gid;
};

/* Who is attached to which multicast group. */
struct fabric_member {
	union ibv_gid	gid;
	uint32_t	qpn;		/* 0: nobody, whatever else stands here */
	uint16_t	lid;
	uint16_t	node;
};

enum { FABRIC_MEMBERS = 8192, FABRIC_ADDRESSES = 1024 };

struct fabric_members {
	uint32_t		changes;	/* so many, after each */
	struct fabric_member	at[FABRIC_MEMBERS];
	uint32_t		high_address;	/* none was ever used from here on */
	struct fabric_address	address[FABRIC_ADDRESSES];
};

/* Nobody in the fabric changes them in between. */
struct fabric_members *fabric_lock_members(void);
void fabric_unlock_members(void);

/* How often they have changed; without the lock. */
uint32_t fabric_member_changes(void);

/* Is the peer alive, as far as known some milliseconds ago? Cheap. */
bool fabric_peer_alive(struct fabric_peer *peer);
/* The same, asked of the kernel now. */
bool fabric_peer_look(struct fabric_peer *peer);

/* The path of file @kind number @id of a node's: "DIR/KIND.NODE.INSTANCE.ID" */
enum { FABRIC_PATH = 512 };
void fabric_path(char path[FABRIC_PATH], const char *kind, uint32_t node,
		 uint64_t instance, uint32_t id);
