/*
 * Listing the needed events from before a cut
 *
 * Not here: tracking outstanding requests (outstanding.c, outstanding_stream.c), chunks (cut.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/write/outstanding_priv.h"

struct item_list {
	struct outstanding_item *items;
	size_t count;
	bool failed;
};

static struct outstanding_item *add_item(struct item_list *list, const struct event_place *at)
{
	struct outstanding_item *item = vec_push(list->items, list->count);

	if (item)
		item->at = *at;
	else
		list->failed = true;
	return item;
}

static void list_request(struct item_list *list, const struct request *request)
{
	const struct completion *completion = &request->completion;
	struct outstanding_item *item = request->hidden ? NULL : add_item(list, &request->at);

	if (item) {
		item->object = request->object;
		item->verb = request->verb;
		item->index = request->index;
		item->wr = &request->wr;
		item->bytes = request->bytes;
	}
	item = request->done ? add_item(list, &completion->at) : NULL;
	if (!item)
		return;
	item->object = completion->cq;
	item->index = completion->index;
	item->flags = completion->flags;
	item->wc = &completion->wc;
	item->extra = completion->flags & EVENT_EXTRA ? &completion->extra : NULL;
}

static void list_requests(struct item_list *list, const struct request_list *requests)
{
	for (uint32_t i = 0; i < requests->count; i++)
		list_request(list, request_list_at(requests, i));
}

/*
 * List the sends of a stream. A send without a known completion is listed only if a receiver may
 * need it.
 */
static void list_sends(const struct outstanding *o, struct item_list *list,
		       const struct stream *stream)
{
	bool received = stream->sends.count && stream_has_receiver(o, stream);

	for (uint32_t i = 0; i < stream->sends.count; i++) {
		const struct request *request = request_list_at(&stream->sends, i);

		if (request->done || received)
			list_request(list, request);
	}
}

static void list_stream(const struct outstanding *o, struct item_list *list, struct stream *stream,
			int64_t time)
{
	if (stream_is_unseen(o, stream, time))
		stream_mark_unseen(stream);
	while (stream->datagrams && stream->sends.count &&
	       request_list_at(&stream->sends, 0)->at.time < time - STALE_NS)
		free(request_list_take(&stream->sends, 0));
	if (stream_has_both_ends(o, stream)) {
		list_sends(o, list, stream);
		list_requests(list, &stream->receives);
	}
}

static int compare_items(const void *a, const void *b)
{
	const struct outstanding_item *x = a, *y = b;

	if (x->at.thread != y->at.thread)
		return x->at.thread < y->at.thread ? -1 : 1;
	if (x->at.n != y->at.n)
		return x->at.n < y->at.n ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int outstanding_list(struct outstanding *o, int64_t time, struct outstanding_item **ret,
		     size_t *ret_count)
{
	struct item_list list = { 0 };

	for (struct queue *queue = o->queues; queue; queue = queue->after) {
		list_requests(&list, &queue->sq);
		list_requests(&list, &queue->rq);
		if (queue->failed)
			list_request(&list, queue->failed);
	}
	for (struct stream *stream = o->streams; stream; stream = stream->after)
		list_stream(o, &list, stream, time);
	for (const struct early_completions *early = o->early; early; early = early->after)
		for (uint32_t i = 0; i < early->list.count; i++)
			if (request_list_at(&early->list, i)->completion.at.time >= time - STALE_NS)
				list_request(&list, request_list_at(&early->list, i));
	for (size_t i = 0; i < o->narmed; i++) {
		const struct armed_cq *armed = o->armed[i];
		struct outstanding_item *item = armed->fetched < armed->at.time && armed->at.thread
							? add_item(&list, &armed->at)
							: NULL;

		if (item)
			item->notify = &armed->notify;
	}
	if (list.failed) {
		free(list.items);
		return -ENOMEM;
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_items);
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}
