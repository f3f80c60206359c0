#pragma once
/*
 * Completions that are delivered late, or never.
 *
 * All completions of a CQ pass through a store (backlog.c), from which the program polls. A
 * completion is put into it when the device has it, and is visible from its due time on, but never
 * before an earlier completion of the same queue. Events of the CQ are sent when a completion
 * becomes visible.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

#include "shim/trace/base/callback.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/objects/known.h"

/* The fields of a completion that struct ibv_wc does not have. */
struct backlog_extra {
	uint64_t timestamp, wallclock;
	uint16_t cvlan;
	uint32_t flow_tag;
	struct ibv_wc_tm_info tm;
};

struct backlog_item {
	struct ibv_wc wc;
	struct backlog_extra extra;
	uint64_t due; /* when it becomes visible, CLOCK_MONOTONIC, ns; UINT64_MAX: never */
	bool visible;
	struct planned_fault planned; /* the fault, if it is not recorded yet */
};

enum backlog_armed { BACKLOG_IDLE, BACKLOG_SOLICITED, BACKLOG_ANY };

struct backlog_channel;

/* The store of a CQ; all zero except the mutex. */
struct backlog {
	pthread_mutex_t mutex;
	/* the mutex is initialised; it remains so, since another thread may try to lock it */
	bool ready;
	struct ibv_cq *cq;
	struct backlog_item *items; /* in the order of their arrival */
	size_t n, room;
	enum backlog_armed armed;
	/* the device has sent its event for a solicited completion that is not visible yet */
	bool owed;
	struct backlog_channel *channel; /* NULL: none */
	/* events that the program has retrieved, and not acknowledged */
	unsigned int unacked;
	/* poll the device, and call backlog_add() for each completion. 0; -1: the poll failed */
	int (*drain)(struct backlog *backlog);
	struct backlog *next; /* next store of a CQ with a channel */
};

/* Is there a rule that delays or drops completions? Otherwise this module is not used. */
bool backlog_is_on(void);

/* @cq was created. If it has a channel, also call backlog_channel_add_cq(). */
void backlog_init(struct backlog *backlog, struct ibv_cq *cq, int (*drain)(struct backlog *));

/* The CQ will be destroyed: forget its completions. Call it after backlog_channel_remove_cq(). */
void backlog_fini(struct backlog *backlog);

void backlog_lock(struct backlog *backlog);
void backlog_unlock(struct backlog *backlog);

/* Send the program an event of this CQ. */
CALLBACK(void, backlog_send, (struct backlog * backlog));

/* Due times have changed: the thread must compute its sleep again. */
CALLBACK(void, backlog_wake, (void));

/* Callers of the following functions hold the lock. */

/* Add a completion that was polled from the device. @extra may be NULL. */
void backlog_add(struct backlog *backlog, const struct ibv_wc *wc,
		 const struct backlog_extra *extra);

/*
 * Poll the device until it is empty, and take the next visible completion. 1; 0: none; -1: a poll
 * failed.
 */
int backlog_take(struct backlog *backlog, struct backlog_item *ret_item);

/* ibv_req_notify_cq(): call it before the device is armed. */
void backlog_arm(struct backlog *backlog, bool solicited_only);

/*
 * The device has sent its event, but no event was sent to the program: arm the device again, for
 * the next completion.
 */
void backlog_arm_device(struct backlog *backlog);

/*
 * Make the completions visible whose time has come, and send the program an event if it has armed
 * the CQ for them.
 */
void backlog_refresh(struct backlog *backlog);

/* When the next completion becomes visible, ns; UINT64_MAX: none. */
uint64_t backlog_next_due(const struct backlog *backlog);

/*
 * Forget the completions of queue pair @qpn, which is reset or destroyed: called for all CQs
 * (calls.c).
 */
void backlog_purge(struct backlog *backlog, uint32_t qpn);
