/*
 * What the other ends did before an event that shows it
 *
 * 	event -> message -> message -> ... -> failure
 *
 * A message may be in the lists of several events: it is sent before the first of these that is
 * replayed, and not again.
 */
#include <errno.h>

#include "core/base/vec.h"
#include "replay/synth/synth_pass.h"

struct synth_early synth_due_message(const struct pass *p, const struct trace_event *event,
				     uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];

	return (struct synth_early){ .poll = event->id,
				     .index = index,
				     .cq = event->poll->object,
				     .order = p->npolls << 32 | index,
				     .time = event->time,
				     .request = wc->request,
				     .qp = wc->qp,
				     .length = wc->byte_len,
				     .imm = wc->imm,
				     .src_qp = wc->src_qp,
				     .status = wc->status,
				     .flags = (uint16_t)wc->wc_flags,
				     .write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM };
}

uint32_t synth_due_number(struct pass *p, const struct synth_early *message)
{
	uint64_t key = event_part_key(message->poll, message->index), number;
	struct synth_early *early;

	if (map_get(&p->far->early_of, key, &number))
		return (uint32_t)number;
	early = vec_push(p->far->early, p->far->nearly);
	if (!early || map_put(&p->far->early_of, key, p->far->nearly))
		return 0;
	*early = *message;
	return (uint32_t)p->far->nearly;
}

static struct synth_dues *find_list(struct pass *p, struct event_id at)
{
	struct synthesized *far = p->far;
	struct synth_dues *list;
	uint64_t number;

	if (map_get(&far->due_at, event_key(at), &number))
		return &far->due_lists[number - 1];
	list = vec_push(far->due_lists, far->ndue_lists);
	return list && !map_put(&far->due_at, event_key(at), far->ndue_lists) ? list : NULL;
}

/* The sort key of an element of a list; failures come last. */
static uint64_t order_of(const struct synthesized *far, const struct synth_due *due)
{
	return due->message ? far->early[due->message - 1].order : UINT64_MAX;
}

static int insert_due(struct pass *p, struct event_id at, struct synth_due due)
{
	struct synthesized *far = p->far;
	struct synth_due *new = vec_push(far->dues, far->ndues);
	struct synth_dues *list = new ? find_list(p, at) : NULL;
	uint64_t order = order_of(far, &due);
	uint32_t *next;

	if (!list)
		return -ENOMEM;
	next = &list->first;
	if (list->last && order_of(far, &far->dues[list->last - 1]) <= order)
		next = &far->dues[list->last - 1].next;
	while (*next && order_of(far, &far->dues[*next - 1]) <= order)
		next = &far->dues[*next - 1].next;
	*new = due;
	new->next = *next;
	*next = (uint32_t)far->ndues;
	if (!new->next)
		list->last = (uint32_t)far->ndues;
	return 0;
}

int synth_send_before(struct pass *p, struct event_id at, const struct synth_early *message,
		      enum synth_due_kind kind)
{
	uint32_t number = synth_due_number(p, message);

	if (!number)
		return -ENOMEM;
	return insert_due(p, at,
			  (struct synth_due){ .message = number,
					      .limit = kind == DUE_LIMIT,
					      .awaited = kind == DUE_AWAITED });
}

int synth_fail_before(struct pass *p, struct event_id at, uint32_t cause)
{
	return insert_due(p, at, (struct synth_due){ .cause = cause });
}
