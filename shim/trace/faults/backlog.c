/*
 * Stores of completions
 *
 *	device --drain--> item, item, item ... --take--> program
 *	                    |
 *	                    when due: visible, and an event is sent
 *
 * A rule counts completions in the order in which they are polled from the device. A completion is
 * never visible before an earlier one of the same queue (the sends or the receives of a queue
 * pair). A completion in error may belong to either queue, so it waits for both.
 *
 * Not here: events and the thread that waits for due times (backlog_channel.c).
 */
#include "shim/trace/faults/backlog.h"

#include <string.h>
#include <stdlib.h>
#include <time.h>

#include "shim/trace/faults/original.h"

bool backlog_is_on(void)
{
	return plan_is_on() && (plan_has(FAULT_LATE) || plan_has(FAULT_NEVER));
}

void backlog_init(struct backlog *backlog, struct ibv_cq *cq, int (*drain)(struct backlog *))
{
	free(backlog->items);
	backlog->items = NULL;
	backlog->n = backlog->room = 0;
	backlog->cq = cq;
	backlog->armed = BACKLOG_IDLE;
	backlog->owed = false;
	backlog->drain = drain;
	if (!backlog->ready)
		pthread_mutex_init(&backlog->mutex, NULL);
	backlog->ready = true;
	backlog->channel = NULL;
}

void backlog_fini(struct backlog *backlog)
{
	backlog_lock(backlog);
	backlog->channel = NULL;
	backlog->n = 0;
	backlog_unlock(backlog);
}

void backlog_lock(struct backlog *backlog)
{
	pthread_mutex_lock(&backlog->mutex);
}

void backlog_unlock(struct backlog *backlog)
{
	pthread_mutex_unlock(&backlog->mutex);
}

static bool is_same_queue(const struct ibv_wc *a, const struct ibv_wc *b)
{
	if (a->qp_num != b->qp_num)
		return false;
	return a->status || b->status || !(a->opcode & IBV_WC_RECV) == !(b->opcode & IBV_WC_RECV);
}

/* When @item becomes visible: not before earlier completions of its queue. */
static uint64_t find_due(const struct backlog *backlog, const struct backlog_item *item)
{
	uint64_t due = item->planned.fault.kind == FAULT_NEVER ? UINT64_MAX
		       : item->planned.fault.kind == FAULT_LATE
			       ? plan_now() + item->planned.fault.ns
			       : 0;

	for (size_t i = 0; i < backlog->n; i++)
		if (backlog->items[i].due > due && is_same_queue(&backlog->items[i].wc, &item->wc))
			due = backlog->items[i].due;
	return due;
}

/* Add an item. If out of memory, the completion is lost: there is no better way to continue. */
static struct backlog_item *new_item(struct backlog *backlog)
{
	struct backlog_item *more;

	if (backlog->n == backlog->room) {
		more = reallocarray(backlog->items, backlog->room * 2 + 64, sizeof(*more));
		if (!more)
			return NULL;
		backlog->items = more;
		backlog->room = backlog->room * 2 + 64;
	}
	return &backlog->items[backlog->n];
}

void backlog_add(struct backlog *backlog, const struct ibv_wc *wc,
		 const struct backlog_extra *extra)
{
	struct backlog_item *item = new_item(backlog);

	if (!item)
		return;
	*item = (struct backlog_item){ .wc = *wc, .planned = plan_completion(wc) };
	if (extra)
		item->extra = *extra;
	item->due = find_due(backlog, item);
	backlog->n++;
}

static bool is_awaited(const struct backlog *backlog, const struct backlog_item *item)
{
	return backlog->armed == BACKLOG_ANY ||
	       (backlog->armed == BACKLOG_SOLICITED && (backlog->owed || item->wc.status));
}

void backlog_refresh(struct backlog *backlog)
{
	uint64_t now = backlog->n ? plan_now() : 0;

	for (size_t i = 0; i < backlog->n; i++) {
		struct backlog_item *item = &backlog->items[i];

		if (item->visible || item->due > now)
			continue;
		item->visible = true;
		if (!is_awaited(backlog, item))
			continue;
		backlog->armed = BACKLOG_IDLE;
		backlog->owed = false;
		CALL_BACK(backlog_send)(backlog);
	}
}

void backlog_arm_device(struct backlog *backlog)
{
	struct ibv_cq *cq = backlog->cq;

	if (backlog->armed == BACKLOG_IDLE)
		return;
	original_of_context(cq->context)
		->ops.req_notify_cq(cq, backlog->armed == BACKLOG_SOLICITED);
	backlog->drain(backlog);
	backlog_refresh(backlog);
}

/*
 * Record the faults. Called in the program's threads, since the thread of the channels records
 * nothing.
 */
static void note_faults(struct backlog *backlog)
{
	for (size_t i = 0; i < backlog->n; i++) {
		struct backlog_item *item = &backlog->items[i];

		if (item->planned.fault.kind == FAULT_NEVER)
			plan_note(&item->planned, "a completion of QP 0x%x is not delivered",
				  item->wc.qp_num);
		else if (item->planned.fault.kind == FAULT_LATE)
			plan_note(
				&item->planned, "a completion of QP 0x%x is delivered %llu us late",
				item->wc.qp_num, (unsigned long long)item->planned.fault.ns / 1000);
		item->planned.fault.kind = FAULT_NONE;
	}
}

int backlog_take(struct backlog *backlog, struct backlog_item *ret_item)
{
	int err = backlog->drain(backlog);

	note_faults(backlog);
	backlog_refresh(backlog);
	for (size_t i = 0; i < backlog->n; i++) {
		if (!backlog->items[i].visible)
			continue;
		*ret_item = backlog->items[i];
		memmove(&backlog->items[i], &backlog->items[i + 1],
			(--backlog->n - i) * sizeof(*backlog->items));
		return 1;
	}
	if (backlog->channel && backlog->n)
		CALL_BACK(backlog_wake)();
	return err;
}

void backlog_arm(struct backlog *backlog, bool solicited_only)
{
	backlog->armed = BACKLOG_IDLE;
	backlog->drain(backlog);
	backlog_refresh(backlog);
	backlog->armed = solicited_only ? BACKLOG_SOLICITED : BACKLOG_ANY;
	backlog->owed = false;
	if (backlog->channel && backlog->n)
		CALL_BACK(backlog_wake)();
}

uint64_t backlog_next_due(const struct backlog *backlog)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < backlog->n; i++)
		if (!backlog->items[i].visible && backlog->items[i].due < due)
			due = backlog->items[i].due;
	return due;
}

void backlog_purge(struct backlog *backlog, uint32_t qpn)
{
	size_t kept = 0;

	for (size_t i = 0; i < backlog->n; i++)
		if (backlog->items[i].wc.qp_num != qpn)
			backlog->items[kept++] = backlog->items[i];
	backlog->n = kept;
}
