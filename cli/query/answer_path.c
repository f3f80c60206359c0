/*
 * "path of T:N[I]": a request from its post to its end, and the receive or memory at the other end
 *
 * 	post        --> the queue pair's n-th message --> the peer's n-th receive completion
 * 	            --> completion, or a later one that retires it
 * 	memory      --> made, gone
 * 	remote --> the memory of a READ, WRITE or atomic; if it failed, the peer's checks
 *
 * A reliable or unreliable connection delivers messages in order, so they are counted on both sides
 * from the last reset of either. If any event is missing, the number is unreliable and not used.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/key.h"
#include "analyzer/model/key_judge.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/query/answer.h"
#include "cli/query/answer_remote.h"
#include "core/base/map.h"
#include "core/wire/log.h"

enum { WC_RECV = 1 << 7 };

static const struct column columns[] = {
	{ "step", COLUMN_TEXT },          { "event", COLUMN_TEXT }, { "time_ns", COLUMN_TIME },
	{ "after_post_ns", COLUMN_TIME }, { "what", COLUMN_TEXT },  { 0 },
};

struct message_path {
	struct answer *answer;
	struct view *view; /* the view whose model gets the events */
	struct table *steps;
	struct event_id id; /* of the post */
	uint32_t index;
	bool posted, ended;
	int64_t posted_at;
	const struct queue *queue; /* the request's; NULL: not known */
	struct map sent, arrived;  /* by queue pair: messages since its last reset */
	/* the message's number within its queue pair; 0: none, or not known */
	uint64_t message;
	uint32_t qp, peer; /* objects */
	bool delivered;
	int err; /* the first; 0 */
};

static void set_count(struct message_path *path, struct map *map, uint32_t qp, uint64_t n)
{
	if (map_put(map, qp, n) && !path->err)
		path->err = log_err(-ENOMEM, "count the messages of a queue pair");
}

static uint64_t count_of(const struct map *map, uint32_t qp)
{
	uint64_t n;

	return map_get(map, qp, &n) ? n : 0;
}

static void add_step(struct message_path *path, const char *step, struct event_id id, int64_t time,
		     const char *what)
{
	char text[32];

	table_text(path->steps, step);
	table_text(path->steps, id.thread ? event_id_text(id, text) : NULL);
	table_number(path->steps, time);
	table_number(path->steps, path->posted ? time - path->posted_at : 0);
	table_text(path->steps, what);
}

static bool is_connected(const struct life *qp)
{
	return qp->qp && (qp->qp->type == ABI_QPT_RC || qp->qp->type == ABI_QPT_UC);
}

static const char *opcode_text(int opcode)
{
	return opcode < 0 ? "receive" : enum_name(enum_find("ibv_wr_opcode"), opcode) ?: "?";
}

static void add_memory(struct message_path *path, const struct life *queue, const struct wr *wr)
{
	const struct keys *keys = model_keys(path->view->model);
	char name[VIEW_TEXT], by[VIEW_TEXT], text[3 * VIEW_TEXT];

	for (uint32_t i = 0; i < wr->nsge && !(wr->send_flags & ABI_SEND_INLINE); i++) {
		const struct key *key =
			keys_find_lkey(keys, queue->process, queue->context, wr->sge[i].lkey);

		view_place(path->view, key ? key->created.stack : 0, by);
		snprintf(text, sizeof(text), "%u bytes at %s%s%s", wr->sge[i].length,
			 name_memory(path->view, queue, &wr->sge[i], name),
			 *by ? ", registered by " : "", by);
		add_step(path, "memory", key ? key->created.id : (struct event_id){ 0 },
			 key ? key->created.time : -1, text);
	}
}

/* Add the memory of the other end, as it was when the request was posted. */
static void add_remote(struct message_path *path, const struct life *qp, const struct wr *wr)
{
	const struct remote_access remote = { .qp = qp,
					      .opcode = wr->opcode,
					      .rkey = wr->rkey,
					      .addr = wr->remote_addr,
					      .length = wr_bytes(wr) };
	char name[REMOTE_TEXT], by[VIEW_TEXT], text[REMOTE_TEXT + VIEW_TEXT + 32];
	const struct key *key;

	if (wr->opcode < 0 || !operation_needs_remote(wr->opcode))
		return;
	remote_name(path->view, &remote, &key, name);
	view_place(path->view, key ? key->created.stack : 0, by);
	snprintf(text, sizeof(text), "%s%s%s%s", name, *by ? ", " : "",
		 !*by                     ? ""
		 : key->kind == OBJECT_mw ? "allocated by "
					  : "registered by ",
		 by);
	add_step(path, "remote", key ? key->created.id : (struct event_id){ 0 },
		 key ? key->created.time : -1, text);
}

static void add_post(struct message_path *path, const struct model_post *post)
{
	const struct trace_event *event = post->event;
	const struct wr *wr = &event->post->wr[path->index];
	char by[VIEW_TEXT], text[2 * VIEW_TEXT];

	path->posted = true;
	path->posted_at = event->time;
	path->ended = path->index >= post->taken;
	view_place(path->view, event->post->stack, by);
	snprintf(text, sizeof(text), "%s, wr_id 0x%" PRIx64 ", on %s%s%s%s",
		 opcode_text(wr->opcode), wr->wr_id, post->object ? post->object->name : "?",
		 *by ? " by " : "", by, path->ended ? "; REFUSED" : "");
	add_step(path, "post", event->id, event->time, text);
	if (!post->object)
		return;
	path->queue = path->ended ? NULL : post->queue;
	add_memory(path, post->object, wr);
	if (post_is_send(event->post))
		add_remote(path, post->object, wr);
}

/* Determine the number of the message, and its receiver. */
static void find_receiver(struct message_path *path, const struct model_post *post, uint64_t before)
{
	const struct peer *other;

	if (!operation_takes_receive(post->event->post->wr[path->index].opcode) ||
	    !is_connected(post->object) || !post->object->peer || !post->queue ||
	    post->queue->doubt)
		return;
	other = peer_find_other(model_peers(path->view->model), post->object->peer);
	path->qp = post->object->id;
	path->peer = other ? other->id : 0;
	path->message = before;
}

static void on_post(void *arg, const struct model_post *post)
{
	struct message_path *path = arg;
	const struct event_id *id = &post->event->id;
	bool ours = id->thread == path->id.thread && id->n == path->id.n;
	uint64_t n;

	if (ours && path->index < post->event->post->nwr)
		add_post(path, post);
	if (!post->object || !post_is_send(post->event->post) || !is_connected(post->object))
		return;
	n = count_of(&path->sent, post->object->id);
	for (uint32_t i = 0; i < post->taken; i++) {
		n += operation_takes_receive(post->event->post->wr[i].opcode);
		if (ours && i == path->index)
			find_receiver(path, post, n);
	}
	set_count(path, &path->sent, post->object->id, n);
}

static const char *wc_text(const struct wc *wc, char text[VIEW_TEXT])
{
	snprintf(text, VIEW_TEXT, "%s, wr_id 0x%" PRIx64,
		 enum_name(enum_find("ibv_wc_status"), wc->status) ?: "?", wc->wr_id);
	return text;
}

static bool is_later(const struct message_path *path, const struct queue_request *request)
{
	struct event_id id = queue_id(request);

	if (id.thread == path->id.thread && id.n == path->id.n)
		return request->index > path->index;
	return request->time >= path->posted_at;
}

/* Add what the other end checked before it refused the request. */
static void add_checks(struct message_path *path, const struct model_complete *complete)
{
	const struct queue_request *request = complete->request;
	struct remote_access remote = { .qp = complete->qp };
	char text[REMOTE_TEXT];

	if (!request || !remote.qp || request->opcode < 0 ||
	    !operation_needs_remote(request->opcode))
		return;
	remote.opcode = request->opcode;
	remote.rkey = request->rkey;
	remote.addr = request->remote_addr;
	for (uint32_t i = 0; i < request->nsge; i++)
		remote.length += queue_sge(complete->queue, request, i)->length;
	add_step(path, "checks", (struct event_id){ 0 }, complete->event->time,
		 remote_checks(path->view, &remote, text));
}

static void note_end(struct message_path *path, const struct model_complete *complete,
		     const struct wc *wc)
{
	bool own = wc->request.thread == path->id.thread && wc->request.n == path->id.n &&
		   wc->request_index == path->index;
	char text[VIEW_TEXT], more[2 * VIEW_TEXT];
	const struct queue_request *by = complete->request;

	if (own) {
		add_step(path, "completion", complete->event->id, complete->event->time,
			 wc_text(wc, text));
		if (wc->status && wc->status != ABI_WC_WR_FLUSH_ERR)
			add_checks(path, complete);
		path->ended = true;
	} else if (by && path->queue && complete->queue == path->queue && path->queue->send &&
		   is_later(path, by)) {
		snprintf(more, sizeof(more),
			 "not signalled: retired by completion [%u] of a later one, %s",
			 complete->index, wc_text(wc, text));
		add_step(path, "retired", complete->event->id, complete->event->time, more);
		path->ended = true;
	}
}

static void note_arrival(struct message_path *path, const struct model_complete *complete,
			 const struct wc *wc)
{
	uint64_t n = count_of(&path->arrived, wc->qp) + 1;
	const struct object *qp = trace_object(path->answer->trace, wc->qp);
	char text[VIEW_TEXT], id[32], more[2 * VIEW_TEXT], process[PROCESS_TEXT];

	set_count(path, &path->arrived, wc->qp, n);
	if (!path->message || wc->qp != path->peer || n != path->message || path->delivered ||
	    (complete->queue && complete->queue->doubt))
		return;
	path->delivered = true;
	snprintf(more, sizeof(more), "%s %s, %u bytes: %s; receive posted by %s",
		 process_id_text(complete->event->process, process), qp ? qp->name : "?",
		 wc->byte_len, wc_text(wc, text), event_id_text(wc->request, id));
	add_step(path, "receive", complete->event->id, complete->event->time, more);
}

static void on_complete(void *arg, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	struct message_path *path = arg;

	if (path->posted && !path->ended)
		note_end(path, complete, wc);
	if (wc->qp && !wc->status && wc->opcode & WC_RECV)
		note_arrival(path, complete, wc);
}

/* A reset restarts both directions. */
static void on_modify(void *arg, const struct model_modify *modify)
{
	struct message_path *path = arg;

	if (modify->to || modify->event->call->failed)
		return;
	set_count(path, &path->sent, modify->object->id, 0);
	set_count(path, &path->arrived, modify->object->id, 0);
}

/* The queue of the request is destroyed, and the request with it. */
static void on_retire(void *arg, const struct life *object)
{
	struct message_path *path = arg;

	if (path->ended || !path->queue || (object->sq != path->queue && object->rq != path->queue))
		return;
	path->queue = NULL;
	add_step(path, "lost", object->ending.id, object->ending.time,
		 "its queue was destroyed before a completion was polled");
	path->ended = true;
}

/* Report the parts that are missing. */
static void print_missing(const struct message_path *path)
{
	struct answer *answer = path->answer;

	if (!path->ended)
		answer_note(answer, "its completion was not polled");
	else if (path->message && !path->delivered)
		answer_note(answer, path->peer ? "no matching receive of the peer is known"
					       : "the peer is not in the trace");
}

static void print_path(struct message_path *path)
{
	answer_begin(path->answer, NULL, NULL);
	if (path->posted) {
		answer_table(path->answer, path->steps);
		path->steps = NULL;
		print_missing(path);
	} else {
		answer_note(path->answer, "unknown: a library posted it inside another verb");
	}
	answer_end(path->answer);
}

static int trace_path(struct message_path *path)
{
	const struct model_watcher watcher = {
		.post = on_post,
		.complete = on_complete,
		.modify = on_modify,
		.retire = on_retire,
		.arg = path,
	};
	struct instant end = { .time = INT64_MAX };
	struct view view;
	int err;

	path->view = &view;
	path->steps = table_new("path", columns);
	err = view_open(path->answer->trace, end, true, &watcher, &view);
	if (!err && !path->err)
		print_path(path);
	if (!err)
		view_close(&view);
	table_free(path->steps);
	map_fini(&path->sent);
	map_fini(&path->arrived);
	return err ? err : path->err;
}

/* Requests that may be the one in question. */
struct request_candidates {
	struct answer *answer;
	struct event_id id;
	uint32_t index;
	uint64_t n; /* requests with the requested wr_id */
	struct table *table;
	bool seen; /* the event exists */
};

static void add_found(struct request_candidates *found, const struct trace_event *event, uint32_t i)
{
	const struct wr *wr = &event->post->wr[i];
	const struct object *object = trace_object(found->answer->trace, event->post->object);
	char id[32], text[48];

	if (found->n++ == 0) {
		found->id = event->id;
		found->index = i;
	}
	if (!answer_shows(found->answer, found->n - 1))
		return;
	snprintf(text, sizeof(text), "%s[%u]", event_id_text(event->id, id), i);
	table_text(found->table, text);
	table_number(found->table, event->time);
	answer_process(found->table, event->process);
	table_text(found->table, object ? object->name : NULL);
	table_text(found->table, opcode_text(wr->opcode));
}

static void find_wr_id(struct request_candidates *found, const struct trace_event *event)
{
	if (event->kind != TRACE_POST || event->inner ||
	    !answer_ranges(found->answer, event->time) ||
	    (found->answer->question->process &&
	     event->process != found->answer->question->process))
		return;
	for (uint32_t i = 0; i < event->post->nwr; i++)
		if (event->post->wr[i].wr_id == found->answer->question->number)
			add_found(found, event, i);
}

/* A post has the request itself, a poll's completion refers to it. */
static void find_event(struct request_candidates *found, const struct trace_event *event)
{
	const struct question *question = found->answer->question;

	if (event->id.thread != question->id.thread || event->id.n != question->id.n)
		return;
	found->seen = event->kind != TRACE_PROCESS && event->kind != TRACE_EXIT;
	if (event->kind == TRACE_POST && question->index < event->post->nwr) {
		found->id = event->id;
		found->index = question->index;
	} else if (event->kind == TRACE_POLL && question->index < event->poll->nwc) {
		found->id = event->poll->wc[question->index].request;
		found->index = event->poll->wc[question->index].request_index;
	}
}

static int find_requests(struct request_candidates *found)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(found->answer->trace, NULL, &cursor);

	if (err)
		return err;
	while (!found->id.thread || found->answer->question->by_wr_id) {
		err = cursor_next(cursor, &event);
		if (err <= 0)
			break;
		if (found->answer->question->by_wr_id)
			find_wr_id(found, event);
		else
			find_event(found, event);
		if (found->seen)
			break;
	}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

/* Returns the exit status; found->id is the request, if there is exactly one. */
static int choose_request(struct request_candidates *found)
{
	const struct question *question = found->answer->question;
	char id[32];

	if (question->by_wr_id && !found->n)
		return cli_misuse("query", "no request has wr_id 0x%" PRIx64 "%s", question->number,
				  found->answer->from || found->answer->to < INT64_MAX
					  ? " in that range"
					  : "");
	if (question->by_wr_id && found->n > 1) {
		answer_begin(found->answer, NULL, NULL);
		answer_table(found->answer, found->table);
		found->table = NULL;
		answer_more(found->answer, found->n);
		answer_note(found->answer, "several requests: choose the path of one");
		answer_end(found->answer);
		found->id.thread = 0;
	} else if (!question->by_wr_id && !found->seen) {
		return cli_misuse("query", "the trace has no event %s",
				  event_id_text(question->id, id));
	} else if (!found->id.thread) {
		return cli_misuse("query",
				  "%s[%u] is neither a request nor a completion of a known "
				  "request",
				  event_id_text(question->id, id), question->index);
	}
	return CLI_FINE;
}

int answer_path(struct answer *answer)
{
	static const struct column requests[] = {
		{ "request", COLUMN_TEXT },   { "time_ns", COLUMN_TIME },
		{ "process", COLUMN_NUMBER }, { "queue", COLUMN_TEXT },
		{ "opcode", COLUMN_TEXT },    { 0 }
	};
	struct request_candidates found = { .answer = answer,
					    .table = table_new("requests", requests) };
	struct message_path path = { .answer = answer };
	int status = cli_status(find_requests(&found));

	if (!status)
		status = choose_request(&found);
	table_free(found.table);
	if (status || !found.id.thread)
		return status;
	path.id = found.id;
	path.index = found.index;
	return cli_status(trace_path(&path));
}
