#pragma once
/*
 * What the recorder knows of contexts, CQs and queues (QPs, SRQs, WQs), by address.
 *
 * A module that knows something of an object has a struct that begins with
 * struct known. An entry stays when its object is gone, and serves the next one
 * of its kind at that address. Any thread: entries are found without a lock,
 * and added under recording_lock().
 */
#include <stdatomic.h>

enum known_kind { KNOWN_CONTEXT, KNOWN_CQ, KNOWN_ENDPOINT, KNOWN_STRICT };

struct known {
	_Atomic(struct known *) next;
	const void *address;
	enum known_kind kind;
};

/* The entry, which begins with its struct known; NULL: nothing is known. */
void *known_find(const void *address, enum known_kind kind);

/*
 * Add an entry that known_find() has not found. Other threads see it at once,
 * so fill it in before.
 */
void known_add(struct known *known, const void *address, enum known_kind kind);
