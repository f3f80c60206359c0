#pragma once
/*
 * Datagrams to a queue pair number that is not their receiver's.
 *
 * A device drops a datagram that no queue pair can receive, and no completion reports that. One
 * finding per queue:
 *
 *	ASTRAY_GROUP		to a multicast address, but not to number 0xffffff
 *	ASTRAY_TYPE		the queue pair with the number is not of type UD
 *	ASTRAY_ORDER		no queue pair has or had it, but one has it in reverse byte order
 *	ASTRAY_GONE		the queue pair with the number was destroyed, and another created
 *	ASTRAY_IDLE_NUMBER	no queue pair has or had it; the only other at the address received
 *				nothing
 *	ASTRAY_EMPTY		the group is empty; the only queue pair in another group received
 *				nothing
 *	ASTRAY_SELF	it is the sender's own number; the only other at the address got nothing
 *
 * The first three are reported with the datagram, the others when the queue ends, if there were
 * ASTRAY_FEW; two to the sender itself are enough.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;
struct qp_path;
struct queue;
struct trace_event;

enum astray {
	ASTRAY_NONE,
	ASTRAY_GROUP,
	ASTRAY_TYPE,
	ASTRAY_ORDER,
	ASTRAY_GONE,
	ASTRAY_IDLE_NUMBER,
	ASTRAY_EMPTY,
	ASTRAY_SELF,
};

enum { ASTRAY_FEW = 3, ASTRAY_OWN = 2 };

/* The report about a datagram that went astray. */
struct model_astray {
	enum astray what;
	struct moment moment; /* post of the first such datagram */
	uint32_t index;       /* index of the datagram in its list */
	const struct life *object;
	/* destination number of the datagrams; for a group: the qp_num in the request */
	uint32_t number;
	uint8_t group[16]; /* ASTRAY_GROUP, ASTRAY_EMPTY */
	uint64_t count;
	/*
	 * the queue pair of another type, with the reversed number, destroyed, or without datagrams
	 */
	const struct peer *peer;
	uint32_t successor; /* ASTRAY_GONE: the object that was created since with that number */
};

/* The datagram @index of @event has no receiver in the trace; @path: of its address handle. */
void astray_note_post(struct model *model, const struct trace_event *event, struct queue *queue,
		      uint32_t index, const struct qp_path *path);

/* @qp ends, its queues still known. */
void astray_end_process(struct model *model, const struct life *qp);

/* The key of a multicast group: the lower bits of those in life->groups. */
uint64_t astray_group(const uint8_t gid[16]);

#define ASTRAY_GROUP_MASK ((UINT64_C(1) << 48) - 1)

bool astray_is_group(const struct qp_path *path);

/*
 * The next live UD queue pair that is in group @group after @life; begin with *@process 1 and @life
 * NULL.
 */
const struct life *astray_next_member(struct model *model, uint64_t group, uint32_t *process,
				      const struct life *life);
