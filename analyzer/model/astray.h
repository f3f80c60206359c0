#pragma once
/*
 * Datagrams to a number that is not their receiver's.
 *
 * A device drops a datagram without a queue pair to receive it, and no completion says so. Reported
 * once a queue:
 *
 *	ASTRAY_GROUP	to a multicast address, but not to number 0xffffff
 *	ASTRAY_TYPE	the queue pair with the number is not of type UD
 *	ASTRAY_ORDER	no queue pair has or had the number; in reverse byte order one has it
 *	ASTRAY_GONE	the queue pair with the number was destroyed before, and another made since
 *	ASTRAY_NOBODY	none has or had it; the only other one at the address received nothing
 *	ASTRAY_EMPTY	the group is empty; the only queue pair in another received nothing
 *
 * The first three are reported with the datagram, the others when the queue ends, if there were
 * ASTRAY_FEW.
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
	ASTRAY_NOBODY,
	ASTRAY_EMPTY,
};

enum { ASTRAY_FEW = 3 };

/* What is reported. */
struct model_astray {
	enum astray what;
	struct moment moment; /* of the first of them */
	uint32_t index;       /* in its list */
	const struct life *object;
	uint32_t number;   /* they were sent to that; or with another qp_num to: */
	uint8_t group[16]; /* ASTRAY_GROUP, ASTRAY_EMPTY */
	uint64_t count;
	/*
	 * the queue pair of another type, with reversed bytes, destroyed, or that received nothing
	 */
	const struct peer *peer;
	uint32_t successor; /* ASTRAY_GONE: the object made since */
};

/* The datagram @index of @event has no receiver in the trace; @path: of its address handle. */
void astray_posted(struct model *model, const struct trace_event *event, struct queue *queue,
		   uint32_t index, const struct qp_path *path);

/* @qp ends, its queues still known. */
void astray_end(struct model *model, const struct life *qp);

/* The number of a multicast group among those of a queue pair: life_attach(). */
uint64_t astray_group(const uint8_t gid[16]);
