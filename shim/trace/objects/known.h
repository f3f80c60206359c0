#pragma once
/*
 * The recorder's data about contexts, CQs and queues (QPs, SRQs, WQs), by address.
 *
 * A module with data about objects has a struct that begins with struct known. An entry is not
 * removed with its object, and is reused for the next object of the same kind at that address. Any
 * thread: entries are found without a lock, and added by callers that hold recording_lock().
 */
#include <stdatomic.h>

enum known_kind {
	KNOWN_CONTEXT,
	KNOWN_CQ,
	KNOWN_ENDPOINT,
	KNOWN_STRICT,
	/* used for faults: */
	KNOWN_FAULTY_CONTEXT,
	KNOWN_FAULTY_CQ,
	KNOWN_FAULTY_QP,
	KNOWN_FAULTY_CHANNEL,
};

struct known {
	_Atomic(struct known *) next;
	const void *address;
	enum known_kind kind;
};

/* The entry, a struct that begins with struct known; NULL: none. */
void *known_find(const void *address, enum known_kind kind);

/*
 * Add an entry that known_find() has not found. Fill it in first, since other threads find it at
 * once.
 */
void known_add(struct known *known, const void *address, enum known_kind kind);
