/*
 * Completions that were read before their posts
 *
 * The collector may read the polling thread's ring ahead of the posting thread's, by up to the
 * capacity of a ring. Early completions wait in the order in which they were polled, separately for
 * each queue pair number, so that a post checks only a few.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/write/outstanding_priv.h"

enum {
	EARLY_MAX = 1 << 16, /* maximum completions of one queue pair number */
	/* maximum completions compared with a post: a number's sends and receives share a list */
	EXAMINED_MOST = 64,
};

static void free_early(struct early_completions *early)
{
	request_list_clear(&early->list);
	free(early);
}

void early_fini(struct outstanding *o)
{
	while (o->early) {
		struct early_completions *early = o->early;

		o->early = early->after;
		free_early(early);
	}
	map_fini(&o->early_by_number);
}

/* The early completions of a queue pair number; NULL if out of memory. */
static struct early_completions *get_early(struct outstanding *o, uint32_t process, uint32_t number)
{
	uint64_t key = outstanding_pair_key(process, number);
	struct early_completions *early = outstanding_entry(&o->early_by_number, key);

	if (early)
		return early;
	early = calloc(1, sizeof(*early));
	if (!early || map_put(&o->early_by_number, key, (uintptr_t)early)) {
		free(early);
		return NULL;
	}
	early->process = process;
	early->number = number;
	early->after = o->early;
	o->early = early;
	return early;
}

int early_add(struct outstanding *o, const struct completion *completion)
{
	struct early_completions *early =
		get_early(o, completion->at.process, completion->wc.qp_num);
	struct request *request = early ? calloc(1, sizeof(*request)) : NULL;

	if (!request)
		return -ENOMEM;
	request->at = completion->at;
	request->bytes = sizeof(request->wr);
	request->hidden = request->done = true;
	request->completion = *completion;
	if (early->list.count == EARLY_MAX) {
		free(request_list_take(&early->list, 0));
		o->nearly--;
	}
	if (request_list_push(&early->list, request)) {
		free(request);
		return -ENOMEM;
	}
	o->nearly++;
	return 0;
}

static int match_list(struct outstanding *o, struct request_list *list, int64_t now, end_fn *end)
{
	for (uint32_t i = 0; i < list->count && i < EXAMINED_MOST;) {
		const struct completion *completion = &request_list_at(list, i)->completion;
		int ended = end(o, completion);

		if (ended < 0)
			return ended;
		if (ended || completion->at.time < now - STALE_NS) {
			free(request_list_take(list, i));
			o->nearly--;
		} else {
			i++;
		}
	}
	return 0;
}

int early_match(struct outstanding *o, const struct queue *queue, int64_t now, end_fn *end)
{
	int err = 0;

	if (queue->is_qp && !queue->qp.srq) {
		struct early_completions *early =
			outstanding_entry(&o->early_by_number,
					  outstanding_pair_key(queue->process, queue->qp.number));

		return early ? match_list(o, &early->list, now, end) : 0;
	}
	for (struct early_completions *early = o->early; early && !err; early = early->after)
		if (early->process == queue->process)
			err = match_list(o, &early->list, now, end);
	return err;
}

bool early_is_awaited(const struct outstanding *o, int64_t time)
{
	for (const struct early_completions *early = o->early; early; early = early->after) {
		const struct request_list *list = &early->list;

		if (list->count &&
		    request_list_at(list, list->count - 1)->completion.at.time > time - STALE_NS)
			return true;
	}
	return false;
}

static bool is_over(const struct outstanding *o, const struct early_completions *early,
		    int64_t time)
{
	const struct request_list *list = &early->list;

	return !list->count ||
	       (request_list_at(list, list->count - 1)->completion.at.time < time &&
		!outstanding_entry(&o->by_number,
				   outstanding_pair_key(early->process, early->number)));
}

void early_forget(struct outstanding *o, int64_t time)
{
	struct early_completions **at = &o->early;

	while (*at) {
		struct early_completions *early = *at;

		if (!is_over(o, early, time)) {
			at = &early->after;
			continue;
		}
		*at = early->after;
		map_remove(&o->early_by_number,
			   outstanding_pair_key(early->process, early->number));
		o->nearly -= early->list.count;
		free_early(early);
	}
}
