#pragma once
/*
 * The memory that keys stand for: each region and window of each process, by lkey and rkey.
 *
 * A key belongs to a context: two devices give the same numbers. The newest of a number counts. A
 * key that is gone is remembered until its number is given again, or KEYS_DEAD have gone since.
 *
 * Every element of every request is looked up, so a queue remembers the last key that it found.
 * Only what does not fit is told (struct model_key). A key that was never seen may have been made
 * by a function that nobody recorded: it is told of when the device has refused it.
 *
 * One thread.
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
	KEY_CHANGING, /* its dereg or rereg has begun, or a bind is not known to be done */
	KEY_DEAD,
};

/* Of a window: its last bind. */
struct key_bind {
	struct moment at; /* zeroed: none */
	uint32_t index;   /* in the list that was posted */
	uint64_t qp;      /* address */
	bool ends;        /* it unbound the window */
	uint64_t addr, length;
	uint32_t access;
};

/* Of a window: what invalidated its key since its last bind; window.h says whether it did. */
struct key_invalid {
	struct moment at; /* the request, or the poll that told; zeroed: nothing */
	uint32_t index;   /* of the request in its list */
	int opcode;       /* of it: LOCAL_INV or SEND_WITH_INV */
	uint64_t qp;      /* address of the queue pair, which may be the peer's */
	bool certain;     /* the receive that it came with was polled */
	bool failed;      /* the request failed, so that it is not known */
};

struct key {
	enum object_kind kind; /* OBJECT_mr or OBJECT_mw */
	enum key_state state;
	uint32_t process;
	uint32_t object;     /* of the trace; 0 unknown */
	uint32_t lkey, rkey; /* 0: none */
	uint32_t access;
	uint64_t handle, context, pd; /* @pd: the one below a parent domain; 0 unknown */
	uint64_t addr, length;        /* what requests may name */
	uint64_t memory;              /* the program's address of @addr */
	bool any;                     /* all addresses, or it is not known which */
	struct moment created, destroyed;
	struct key_bind bind;
	struct key_invalid invalid;
	struct key *next_lkey, *next_rkey; /* of the same number */
	struct key *older, *newer;         /* among the live, or the dead */
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
	struct key_list replaced; /* keys that windows had, found by no number */
	uint64_t changes;         /* so often did a key come, go or change */
	bool shared; /* a process has imported another's objects: its keys have two owners */
	struct suspect suspects[KEYS_SUSPECT];
	uint64_t nsuspects;
};

void keys_fini(struct keys *keys);

/* Take @key over as the newest of its numbers. 0 or -ENOMEM; it is freed then. */
int keys_add(struct keys *keys, struct key *key);

/* Give a key other numbers: it is the newest of them. 0 or -ENOMEM. */
int keys_rename(struct keys *keys, struct key *key, uint32_t lkey, uint32_t rkey);

/* Its region is gone: remember it for a while. */
void keys_bury(struct keys *keys, struct key *key, const struct moment *destroyed);

/* A window is bound again: remember for a while the key that it had until @moment. */
void keys_replace(struct keys *keys, const struct key *key, const struct moment *moment);

/* That of the MR or MW at @handle, live or dead; NULL if there is none. */
struct key *keys_of(const struct keys *keys, uint32_t process, enum object_kind kind,
		    uint64_t handle);

/* The newest of that number, live before dead, in @context (0: any); NULL if there is none. */
struct key *keys_find_lkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t lkey);
struct key *keys_find_rkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t rkey);

/* Does the key stand for all of the range? */
bool key_holds(const struct key *key, uint64_t addr, uint64_t length);
