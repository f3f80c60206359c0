/*
 * "outstanding on QUEUE": requests of a QP, SRQ, WQ or CQ that are posted and not completed
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "cli/query/answer.h"

static const struct column columns[] = {
	{ "request", COLUMN_TEXT },   { "on", COLUMN_TEXT },
	{ "opcode", COLUMN_TEXT },    { "bytes", COLUMN_COUNT },
	{ "memory", COLUMN_TEXT },    { "remote", COLUMN_TEXT },
	{ "wr_id", COLUMN_TEXT },     { "signaled", COLUMN_TEXT },
	{ "posted_ns", COLUMN_TIME }, { 0 },
};

struct listing {
	struct answer *answer;
	const struct view *view;
	const struct life *object;
	struct table *table;
	uint64_t n;
	unsigned int doubt;
};

static bool is_of(const struct queue *queue, const struct life *object)
{
	if (object->kind == OBJECT_cq)
		return queue->cq && queue->cq == object->cq;
	return queue == object->sq || queue == object->rq;
}

static uint64_t count_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

static const char *opcode_name(const struct queue_request *request)
{
	if (request->opcode == QUEUE_RECEIVE)
		return "receive";
	return enum_name(enum_find("ibv_wr_opcode"), request->opcode) ?: "?";
}

static void add_memory(struct listing *list, const struct queue *queue,
		       const struct queue_request *request)
{
	char text[VIEW_TEXT];

	if (!request->nsge)
		table_text(list->table, NULL);
	else if (request->flags & ABI_SEND_INLINE)
		table_text(list->table, "inline");
	else
		table_text(list->table, name_memory(list->view, queue->owner,
						    queue_sge(queue, request, 0), text));
	table_text(list->table, name_remote(list->view, queue->owner, request, text));
}

static bool list_request(void *arg, const struct queue *queue, const struct queue_request *request)
{
	struct listing *list = arg;
	char text[VIEW_TEXT], id[32];

	if (!queue->owner || !is_of(queue, list->object))
		return false;
	list->doubt |= queue->doubt;
	if (!answer_ranges(list->answer, request->time))
		return false;
	if (!answer_shows(list->answer, list->n++))
		return false;
	snprintf(text, sizeof(text), "%s[%u]", event_id_text(queue_id(request), id),
		 request->index);
	table_text(list->table, text);
	table_text(list->table, queue->owner->name);
	table_text(list->table, opcode_name(request));
	table_number(list->table, (int64_t)count_bytes(queue, request));
	add_memory(list, queue, request);
	snprintf(text, sizeof(text), "0x%" PRIx64, request->wr_id);
	table_text(list->table, text);
	table_text(list->table, request->signalled ? "yes" : "no");
	table_number(list->table, request->time);
	return false;
}

static void print_queue(struct answer *answer, const char *what, const struct queue *queue)
{
	char room[32] = "";

	if (!queue)
		return;
	if (queue->limits.given || queue->limits.asked)
		snprintf(room, sizeof(room), " of %u", queue->limits.given ?: queue->limits.asked);
	answer_note(answer, "%s: %u%s, %u of them signalled; maximum %u", what, queue->outstanding,
		    room, queue->signalled, queue->high);
}

void answer_outstanding(struct answer *answer, const struct view *view, const struct object *object,
			const struct life *life)
{
	struct listing list = { .answer = answer, .view = view, .object = life };

	if (!life || (!life->sq && !life->rq && !life->cq)) {
		answer_note(answer, "%s has no known queue", object->name);
		return;
	}
	if (life->cq)
		answer_note(answer,
			    "%u entries, at most %" PRIu64 " outstanding requests complete "
			    "here",
			    life->cq->given, life->cq->could);
	print_queue(answer, "sends", life->sq);
	print_queue(answer, "receives", life->rq);
	list.table = table_new("outstanding", columns);
	queues_each(view->model, life->process, list_request, &list);
	answer_table(answer, list.table);
	answer_more(answer, list.n);
	if (list.doubt || (life->sq && life->sq->doubt) || (life->rq && life->rq->doubt))
		answer_note(answer, "NOT CERTAIN: %s",
			    words_explain_doubt(list.doubt | (life->sq ? life->sq->doubt : 0) |
						(life->rq ? life->rq->doubt : 0)));
}
