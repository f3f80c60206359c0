#pragma once
/*
 * Messages sent to queue pairs that cannot refuse them: UC and UD.
 *
 * Such a message is lost if it does not fit, and neither end is notified.
 *
 * Not thread-safe.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

struct model;

/* The messages sent to one queue pair number, or multicast group. */
struct sent_to {
	uint64_t messages;
	uint64_t bytes; /* of the last message */
	uint32_t process, qp;
};

struct sent {
	struct map by_number; /* 1 + index in `all`; groups have GROUP in their number */
	struct sent_to *all;
	size_t n;
	/* the sender of the last post, with its peer if it is UC; cleared by sent_forget_peers() */
	uint64_t handle;
	uint32_t process, dest;
	bool refuses; /* it is RC, which refuses messages that do not fit */
};

/* Note the messages in a post of the application; if out of memory, they are not known. */
void sent_note_post(struct sent *sent, struct model *model, const struct trace_event *event);

/* A queue pair may have been created, connected or destroyed. */
void sent_forget_peers(struct sent *sent);

/* NULL: nothing is known. */
const struct sent_to *sent_find(const struct sent *sent, uint32_t number);

/* The messages sent to the multicast group @group of life.last_group. */
const struct sent_to *sent_find_group(const struct sent *sent, uint64_t group);

void sent_fini(struct sent *sent);
