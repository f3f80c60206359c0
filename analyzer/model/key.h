#pragma once
/*
 * The memory of keys: each region and window of each process, by lkey and rkey.
 *
 * A key belongs to a context: two devices may use the same numbers. The newest key of a number
 * counts. A dead key is remembered until its number is reused, or KEYS_DEAD others have died since.
 *
 * Every element of every request is looked up, so a queue caches the last key. Only mismatches are
 * reported (struct model_key). An unknown key may come from a function that was not recorded: it is
 * reported only if the device has refused it.
 *
 * Not thread-safe.
 */
#include "analyzer/model/abi.h"
#include "analyzer/model/lives.h"
#include "core/base/map.h"

enum {
	KEYS_DEAD = 1 << 16,
	KEYS_SUSPECT = 256, /* uses of unknown keys that are remembered */
	KEYS_REPLACED = 1 << 12,
};

enum key_state {
	KEY_LIVE,
	KEY_CHANGING, /* its dereg or rereg has begun, or the result of a bind is not known */
	KEY_DEAD,
};

/* The last bind of a window. */
struct key_bind {
	struct moment at;       /* zeroed: none */
	uint32_t index;         /* in the list that was posted */
	uint64_t qp;            /* address */
	uint64_t mr;            /* its region's address */
	bool ends;              /* it unbound the window */
	struct event_id before; /* the bind that it replaces without an invalidation; 0:0: none */
	uint64_t addr, length;
	uint32_t access;
};

/* The event that may have invalidated a window's key since its last bind (window.h). */
struct key_invalid {
	struct moment at; /* the request, or the poll that reported it; zeroed: none */
	uint32_t index;   /* of the request in its list */
	int opcode;       /* of the request: LOCAL_INV or SEND_WITH_INV */
	uint64_t qp;      /* address of the queue pair, which may be the peer's */
	bool certain;     /* the receive of the SEND_WITH_INV was polled */
	bool failed;      /* the request failed, so the key may still be valid */
};

struct key {
	enum object_kind kind; /* OBJECT_mr or OBJECT_mw */
	enum key_state state;
	uint32_t process;
	uint32_t object;                   /* the object of the trace; 0 unknown */
	uint32_t lkey, rkey;               /* 0: none */
	uint32_t lkey_before, rkey_before; /* the keys before the last ibv_rereg_mr(); 0: none */
	struct moment changed;             /* the last ibv_rereg_mr() */
	uint32_t access;
	uint64_t handle, context, pd; /* @pd: the PD below a parent domain; 0 unknown */
	uint64_t addr, length;        /* the range that requests may use */
	uint64_t memory;              /* the program's address that corresponds to @addr */
	bool any; /* requests may use all addresses, or the range is not known */
	struct moment created, destroyed;
	struct moment released;  /* all of its memory was released; zeroed: it was not */
	const char *released_by; /* "munmap" */
	bool unmapped;           /* the memory was unmapped, not just returned to the allocator */
	uint64_t posts;          /* posts of its process up to the release */
	uint64_t remote;         /* requests of other ends that used the key */
	struct key_bind bind;
	struct key_invalid invalid;
	struct key *next_lkey, *next_rkey; /* next key of the same number */
	struct key *older, *newer;         /* in the list of live keys, or of dead ones */
};

struct key_list {
	struct key *oldest, *newest;
	size_t n;
};

/* A request whose key was not known when it was posted. */
struct suspect {
	struct moment at;
	uint32_t queue, index; /* object; place in the list */
	int sge;               /* -1: the remote key */
	int opcode;            /* -1: a receive */
	uint64_t wr_id, handle;
	uint32_t number;
	uint64_t addr, length;
};

struct keys {
	struct map by_lkey, by_rkey, by_handle;
	struct key_list live, dead;
	struct key_list replaced; /* former keys of windows, found by no number */
	uint64_t changes;         /* incremented when a key is added, removed or changed */
	bool shared; /* a process has imported another's objects: its keys have two owners */
	struct suspect suspects[KEYS_SUSPECT];
	uint64_t nsuspects;
	struct pool pool; /* of struct key */
};

void keys_fini(struct keys *keys);

/* A key of zeroes, for keys_add(); NULL if out of memory. */
struct key *keys_new(struct keys *keys);

/* Add @key, the newest of its lkey and rkey. 0 or -ENOMEM, which frees it. */
int keys_add(struct keys *keys, struct key *key);

/* Give a key another lkey and rkey, as their newest key. 0 or -ENOMEM. */
int keys_rename(struct keys *keys, struct key *key, uint32_t lkey, uint32_t rkey);

/* The region of the key was deregistered: remember the key for a while. */
void keys_mark_dead(struct keys *keys, struct key *key, const struct moment *destroyed);

/* A window was bound again: remember for a while the key that it had until @moment. */
void keys_replace(struct keys *keys, const struct key *key, const struct moment *moment);

/* The key of the MR or MW at @handle, live or dead; NULL if there is none. */
struct key *keys_find_object(const struct keys *keys, uint32_t process, enum object_kind kind,
			     uint64_t handle);

/* The newest key of that number, live before dead, in @context (0: any); NULL if there is none. */
struct key *keys_find_lkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t lkey);
struct key *keys_find_rkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t rkey);

/*
 * The key that a program may have meant by a wrong one: the newest, or NULL. These functions search
 * all keys, or the newest few thousand.
 */

/* A live region of @key's process and context, other than @key, that holds the range. */
const struct key *keys_find_holder(const struct keys *keys, const struct key *key, uint64_t addr,
				   uint64_t length);

/* A region whose lkey (@letter 'l') or rkey was @number until its last ibv_rereg_mr(). */
const struct key *keys_find_renamed(const struct keys *keys, uint32_t process, char letter,
				    uint32_t number);

/* A window whose rkey differs from @rkey only in the low 8 bits, which change with each bind. */
const struct key *keys_find_sibling(const struct keys *keys, uint32_t process, uint32_t rkey);

/* A key with lkey or rkey @number, of a process that is neither @process nor @other. */
const struct key *keys_find_elsewhere(const struct keys *keys, uint32_t process, uint32_t other,
				      uint32_t number);

/* Such a key that also covers the range. */
const struct key *keys_find_range(const struct keys *keys, uint32_t process, uint32_t other,
				  uint32_t number, uint64_t addr, uint64_t length);

/* The live key of @process with rkey @number that covers the range; NULL: none. */
const struct key *keys_find_own_range(const struct keys *keys, uint32_t process, uint32_t number,
				      uint64_t addr, uint64_t length);

/* Does the key cover the whole range? */
bool key_holds(const struct key *key, uint64_t addr, uint64_t length);
