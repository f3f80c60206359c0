#pragma once
/*
 * Completions that come late, or never.
 *
 * All completions of a CQ pass through a store (backlog.c), from which the program polls. A
 * completion enters it when the device has it, and is visible from its due time on, but never
 * before an earlier one of the same queue. Events of the CQ are sent when a completion becomes
 * visible.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

#include "shim/trace/base/callback.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/objects/known.h"

/* What can be read of a completion beyond struct ibv_wc. */
struct backlog_extra {
	uint64_t timestamp, wallclock;
	uint16_t cvlan;
	uint32_t flow_tag;
	struct ibv_wc_tm_info tm;
};

struct backlog_item {
	struct ibv_wc wc;
	struct backlog_extra extra;
	uint64_t due; /* CLOCK_MONOTONIC, ns; UINT64_MAX: never */
	bool visible;
	struct planned planned; /* the fault that is not recorded yet */
};

enum backlog_armed { BACKLOG_IDLE, BACKLOG_SOLICITED, BACKLOG_ANY };

struct backlog_channel;

/* The store of a CQ; zeroed, but for the mutex. */
struct backlog {
	pthread_mutex_t mutex;
	/* the mutex is initialised: it remains so, as another thread may be trying it */
	bool ready;
	struct ibv_cq *cq;
	struct backlog_item *items; /* in the order in which they came */
	size_t n, room;
	enum backlog_armed armed;
	bool owed; /* the device has sent its event for a solicited completion */
	struct backlog_channel *channel; /* NULL: none */
	/* events that the program has retrieved, and not acknowledged */
	unsigned int unacked;
	/* poll the device, and call backlog_add() for each completion. 0, or -1: it failed */
	int (*drain)(struct backlog *backlog);
	struct backlog *next; /* of all with a channel */
};

/* Is there a rule that delays or drops completions? Otherwise this module is not used. */
bool backlog_is_on(void);

/* @cq was created. backlog_channel_add_cq() adds its channel. */
void backlog_init(struct backlog *backlog, struct ibv_cq *cq, int (*drain)(struct backlog *));

/* The CQ is about to be destroyed: forget its completions. After backlog_channel_remove_cq(). */
void backlog_fini(struct backlog *backlog);

void backlog_lock(struct backlog *backlog);
void backlog_unlock(struct backlog *backlog);

/* Send the program an event of this CQ. */
CALLBACK(void, backlog_send, (struct backlog * backlog));

/* Due times have changed. */
CALLBACK(void, backlog_wake, (void));

/* The following with the lock held. */

/* A completion came from the device. @extra may be NULL. */
void backlog_add(struct backlog *backlog, const struct ibv_wc *wc,
		 const struct backlog_extra *extra);

/* Drain the device, and take the next visible completion. 1; 0: none; -1: the device failed. */
int backlog_take(struct backlog *backlog, struct backlog_item *ret_item);

/* ibv_req_notify_cq(): before the device itself is armed. */
void backlog_arm(struct backlog *backlog, bool solicited_only);

/*
 * The device has sent its event, but the program has not got one: arm the device again, for what
 * comes next.
 */
void backlog_arm_device(struct backlog *backlog);

/* Make completions visible that have become due, and send the event, if one is due. */
void backlog_refresh(struct backlog *backlog);

/* When the next completion is due; UINT64_MAX: none. */
uint64_t backlog_next_due(const struct backlog *backlog);

/* Forget the completions of a queue pair that is reset or destroyed, in all CQs (calls.c). */
void backlog_purge(struct backlog *backlog, uint32_t qpn);
