/*
 * The first completion in error of each queue pair
 *
 * The first error flushes all later requests, so that a thousand errors have one cause. The
 * requests are read from the trace a second time, in one pass after the end: remembering every
 * request would cost more. In a trace that is still being written, they are looked up at once.
 */
#include "analyzer/facts/first_errors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/facts/fact.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

enum { INVALID_POSTS = 256 }; /* invalid requests that are remembered */

struct invalid_request {
	struct event_id id;
	uint32_t index;
};

struct first_errors {
	struct trace *trace;
	struct cursor *cursor; /* to look up requests of a trace that is still written; or NULL */
	struct first_list *errors;
	uint32_t *slots; /* 1 + index in errors->all, 0: free; by queue pair, never full */
	size_t nslots;   /* a power of two */
	size_t room;     /* capacity of errors->all */
	struct invalid_request invalid_posts[INVALID_POSTS];
	uint64_t ninvalid_posts;
};

int first_errors_new(struct trace *trace, struct first_list *errors,
		     struct first_errors **ret_first)
{
	struct first_errors *first = calloc(1, sizeof(*first));

	if (!first)
		return log_err(-ENOMEM, "first errors");
	first->trace = trace;
	first->errors = errors;
	*ret_first = first;
	return 0;
}

void first_errors_free(struct first_errors *first)
{
	if (!first)
		return;
	cursor_close(first->cursor);
	free(first->slots);
	free(first);
}

/* A queue pair that is not in the trace is identified by its number. */
static uint32_t *slot_of(const struct first_errors *first, uint32_t process, uint32_t qp,
			 uint32_t qp_num)
{
	uint64_t key = qp ? fact_key(qp, 0, 0) : fact_key(0, process, qp_num);
	const struct first_error *error;

	for (size_t i = key & (first->nslots - 1);; i = (i + 1) & (first->nslots - 1)) {
		if (!first->slots[i])
			return &first->slots[i];
		error = &first->errors->all[first->slots[i] - 1];
		if (qp ? error->qp == qp
		       : !error->qp && error->process == process && error->qp_num == qp_num)
			return &first->slots[i];
	}
}

static struct first_error *find_error(const struct first_errors *first, uint32_t process,
				      const struct wc *wc)
{
	uint32_t slot = first->nslots ? *slot_of(first, process, wc->qp, wc->qp_num) : 0;

	return slot ? &first->errors->all[slot - 1] : NULL;
}

/* Double the table when it is half full. */
static int double_slots(struct first_errors *first)
{
	const struct first_list *errors = first->errors;
	size_t n = first->nslots ? first->nslots * 2 : 64;
	uint32_t *slots;

	if (errors->n < first->nslots / 2)
		return 0;
	slots = calloc(n, sizeof(slots[0]));
	if (!slots)
		return -ENOMEM;
	free(first->slots);
	first->slots = slots;
	first->nslots = n;
	for (size_t i = 0; i < errors->n; i++) {
		const struct first_error *error = &errors->all[i];

		*slot_of(first, error->process, error->qp, error->qp_num) = (uint32_t)i + 1;
	}
	return 0;
}

static int reserve_error(struct first_errors *first)
{
	struct first_list *errors = first->errors;
	size_t room = first->room ? first->room * 2 : 16;
	struct first_error *more;

	if (errors->n == first->room) {
		more = realloc(errors->all, room * sizeof(more[0]));
		if (!more)
			return -ENOMEM;
		errors->all = more;
		first->room = room;
	}
	return double_slots(first);
}

static void copy_from_post(struct first_request *request, const struct post *post)
{
	const struct wr *wr;

	if (request->index >= post->nwr) {
		request->id = (struct event_id){ 0, 0 };
		return;
	}
	wr = &post->wr[request->index];
	request->stack = post->stack;
	request->is_recv = !post_is_send(post);
	request->opcode = wr->opcode;
	request->nsge = wr->nsge;
	if (wr->nsge)
		request->sge = wr->sge[0];
	request->remote_addr = wr->remote_addr;
	request->rkey = wr->rkey;
}

/* ibv_bind_mw() posts a request, too. */
static void copy_from_bind(struct first_request *request, const struct call *call)
{
	request->stack = call->stack;
	request->opcode = ABI_WR_BIND_MW;
}

static int look_up_post(struct first_errors *first, struct first_request *request)
{
	const struct post *post;
	int err = 0;

	if (!request->id.thread)
		return 0;
	if (!first->cursor)
		err = cursor_open(first->trace, NULL, &first->cursor);
	if (!err)
		err = cursor_post(first->cursor, request->id, &post);
	if (err == 1)
		copy_from_post(request, post);
	else
		request->id = (struct event_id){ 0, 0 };
	return err < 0 ? err : 0;
}

void first_errors_note_invalid_sge(struct first_errors *first, struct event_id id, uint32_t index)
{
	first->invalid_posts[first->ninvalid_posts++ % INVALID_POSTS] =
		(struct invalid_request){ id, index };
}

static bool is_invalid_post(const struct first_errors *first, const struct first_request *request)
{
	for (uint64_t i = 0; i < INVALID_POSTS && i < first->ninvalid_posts; i++)
		if (first->invalid_posts[i].id.thread == request->id.thread &&
		    first->invalid_posts[i].id.n == request->id.n &&
		    first->invalid_posts[i].index == request->index)
			return true;
	return false;
}

/*
 * If either of two requests may have failed, choose the request whose buffer is outside its region.
 */
static void choose_request(const struct first_errors *first, struct first_error *error)
{
	bool request = is_invalid_post(first, &error->request),
	     other = is_invalid_post(first, &error->other);

	if (!error->other.id.thread || request == other)
		return;
	if (other)
		error->request = error->other;
	error->other = (struct first_request){ .posted_at = -1 };
	error->candidates = 1;
}

/*
 * Store the name when the error is found: a trace that is still being written forgets destroyed
 * objects.
 */
static void name_qp(struct first_errors *first, struct first_error *error)
{
	const struct object *qp = error->qp ? trace_object(first->trace, error->qp) : NULL;

	if (qp && qp->name)
		snprintf(error->name, sizeof(error->name), "%s", qp->name);
}

static int add_error(struct first_errors *first, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct first_error *error;

	if (reserve_error(first) < 0)
		return log_err(-ENOMEM, "first errors");
	*slot_of(first, event->process, wc->qp, wc->qp_num) = (uint32_t)first->errors->n + 1;
	error = &first->errors->all[first->errors->n++];
	*error = (struct first_error){
		.process = event->process,
		.qp = wc->qp,
		.qp_num = wc->qp_num,
		.event = event->id,
		.index = index,
		.poll_stack = event->poll->stack,
		.time = event->time,
		.status = wc->status,
		.vendor_err = wc->vendor_err,
		.wr_id = wc->wr_id,
		.candidates = wc->candidates,
		.request = { .id = wc->request,
			     .index = wc->request_index,
			     .posted_at = wc->posted_at },
		.other = { .id = wc->other,
			   .index = wc->other_index,
			   .posted_at = wc->other_posted_at },
	};
	choose_request(first, error);
	name_qp(first, error);
	if (!trace_is_live(first->trace))
		return 0;
	return look_up_post(first, &error->request) ?: look_up_post(first, &error->other);
}

int first_errors_note_poll(struct first_errors *first, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct first_error *error;
	int err = 0;

	for (uint32_t i = 0; i < poll->nwc && !err; i++) {
		if (poll->wc[i].status == FIRST_SUCCESS)
			continue;
		error = find_error(first, event->process, &poll->wc[i]);
		if (poll->wc[i].status == FIRST_FLUSH) {
			if (error)
				error->flushes++;
		} else if (!error) {
			err = add_error(first, event, i);
		}
	}
	return err;
}

/* A request to look up; @request is marked as not known until it is found. */
struct wanted_request {
	struct event_id id;
	struct first_request *request;
};

/* Sorted by request; several of one post may have failed. */
struct request_search {
	struct wanted_request *wanted;
	size_t n, left;
	int64_t from, to;
};

static int compare_event_ids(struct event_id a, struct event_id b)
{
	if (a.thread != b.thread)
		return a.thread < b.thread ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

static int compare_requests(const void *a, const void *b)
{
	const struct wanted_request *x = a, *y = b;

	return compare_event_ids(x->id, y->id);
}

static void add_wanted_request(struct request_search *sought, struct first_request *request)
{
	if (!request->id.thread)
		return;
	if (!sought->n || request->posted_at < sought->from)
		sought->from = request->posted_at;
	if (!sought->n || request->posted_at > sought->to)
		sought->to = request->posted_at;
	sought->wanted[sought->n++] = (struct wanted_request){ request->id, request };
	request->id = (struct event_id){ 0, 0 };
}

static void list_requests(struct request_search *sought, struct first_list *errors)
{
	for (size_t i = 0; i < errors->n; i++) {
		add_wanted_request(sought, &errors->all[i].request);
		add_wanted_request(sought, &errors->all[i].other);
	}
	sought->left = sought->n;
	if (sought->n)
		qsort(sought->wanted, sought->n, sizeof(*sought->wanted), compare_requests);
}

static void match_requests(struct request_search *sought, const struct trace_event *event)
{
	size_t low = 0, high = sought->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_event_ids(sought->wanted[mid].id, event->id) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < sought->n && !compare_event_ids(sought->wanted[low].id, event->id); low++) {
		sought->wanted[low].request->id = event->id;
		if (event->kind == TRACE_POST)
			copy_from_post(sought->wanted[low].request, event->post);
		else
			copy_from_bind(sought->wanted[low].request, event->call);
		sought->left--;
	}
}

/* Look up all wanted requests in one pass, which ends with the last of them. */
static int look_up_requests(struct first_errors *first, struct request_search *sought)
{
	struct trace_filter filter = { .from = sought->from,
				       .to = sought->to + 1,
				       .unmatched = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(first->trace, &filter, &cursor);

	if (err < 0)
		return err;
	while (sought->left && (err = cursor_next(cursor, &event)) == 1)
		if (event->kind == TRACE_POST ||
		    (event->kind == TRACE_CALL && event->call->verb == VERB_bind_mw))
			match_requests(sought, event);
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

int first_errors_finish(struct first_errors *first)
{
	struct first_list *errors = first->errors;
	struct request_search sought = { 0 };
	int err = 0;

	if (trace_is_live(first->trace) || !errors->n)
		return 0;
	sought.wanted = calloc(errors->n, 2 * sizeof(*sought.wanted));
	if (!sought.wanted)
		return log_err(-ENOMEM, "first errors");
	list_requests(&sought, errors);
	if (sought.n)
		err = look_up_requests(first, &sought);
	free(sought.wanted);
	return err;
}
