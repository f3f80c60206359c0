/*
 * A trace as the events of a Perfetto trace
 *
 * 	process
 * 	  thread        control verbs as slices, posts and polls as instants
 * 	  qp1 sends 1   a slice for each request, from its post to the poll of its completion;
 * 	  qp1 sends 2   requests that are outstanding at once are in lanes, since slices nest
 * 	  qp1 receives 1
 * 	  qp1 outstanding, pinned bytes, requests/s   counters
 *
 * A flow goes from the post to the slice of the request, to the poll of its completion, and to the
 * poll of what the peer received. Completions of a connected queue pair come in the order of the
 * sends, so that the n-th message of one end is the n-th that the other received, until the first
 * error. Memory grows with the number of outstanding requests.
 */
#include "cli/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/pinned.h"
#include "analyzer/model/qp.h"
#include "analyzer/profile/profile.h"
#include "analyzer/tables/pass.h"
#include "cli/export/tracks.h"
#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

enum { SENDS, RECEIVES, SIDES };
enum { RATE_WINDOW = 10000000, RATE_PER_SECOND = 100 };

/* The kind of a track, in the top byte of its number. */
enum { OF_PROCESS = 1, OF_THREAD, OF_LANE, OF_OUTSTANDING, OF_PINNED, OF_RATE };

struct outstanding {
	struct event_id id;
	uint32_t index, lane;
	uint64_t flow;
	bool over;
};

/* A send queue or a receive queue. */
struct lanes {
	struct outstanding *requests;
	size_t first, n, size, nout;
	bool *busy;
	size_t nlanes;
	/* sends that the peer will receive, oldest first */
	uint64_t *messages;
	size_t first_message, nmessages, messages_size;
	bool broken;
};

struct perfetto {
	struct trace *trace;
	const struct profile_select *select;
	struct pass pass;
	struct tracks tracks;
	struct map queues; /* by object and side: 1 + index */
	struct lanes **all;
	uint64_t *keys;
	size_t nall, nkeys;
	uint32_t *depths; /* of open calls, by thread */
	size_t ndepths;
	uint64_t flows, posted;
	int64_t window;
};

static uint64_t track_of(unsigned int what, uint64_t number)
{
	return (uint64_t)what << 56 | number;
}

static void describe_process(struct perfetto *p, uint32_t id)
{
	const struct process *process = trace_process(p->trace, id);
	struct track track = { .id = track_of(OF_PROCESS, id),
			       .name = process ? process->cmdline ?: process->exe ?: "" : "",
			       .pid = process ? process->pid : 0 };

	tracks_describe(&p->tracks, &track);
}

static uint64_t thread_track(struct perfetto *p, uint32_t id)
{
	const struct thread *thread = trace_thread(p->trace, id);
	const struct process *process = thread ? trace_process(p->trace, thread->process) : NULL;
	struct track track = { .id = track_of(OF_THREAD, id) };

	if (tracks_has(&p->tracks, track.id))
		return track.id;
	if (process) {
		describe_process(p, process->id);
		track.parent = track_of(OF_PROCESS, process->id);
		track.pid = process->pid;
		track.tid = thread->tid;
	}
	track.name = thread && thread->comm ? thread->comm : "";
	tracks_describe(&p->tracks, &track);
	return track.id;
}

static uint64_t object_track(struct perfetto *p, unsigned int what, uint64_t number,
			     uint32_t object, const char *role)
{
	const struct object *of = trace_object(p->trace, object);
	struct track track = { .id = track_of(what, number), .counter = what != OF_LANE };
	char name[96];

	if (tracks_has(&p->tracks, track.id))
		return track.id;
	if (of) {
		describe_process(p, of->process);
		track.parent = track_of(OF_PROCESS, of->process);
	}
	snprintf(name, sizeof(name), "%.40s %s", of ? of->name : "queue", role);
	track.name = name;
	tracks_describe(&p->tracks, &track);
	return track.id;
}

static uint64_t lane_track(struct perfetto *p, uint64_t key, uint32_t lane)
{
	uint64_t number = key << 20 | lane, id = track_of(OF_LANE, number);
	char role[48];

	if (tracks_has(&p->tracks, id))
		return id;
	snprintf(role, sizeof(role), "%s %u", key & 1 ? "receives" : "sends", lane + 1);
	return object_track(p, OF_LANE, number, (uint32_t)(key >> 1), role);
}

static struct lanes *find_lanes(struct perfetto *p, uint32_t object, int side, bool make)
{
	uint64_t key = (uint64_t)object << 1 | (unsigned int)side, at, *kept;
	struct lanes **slot;

	if (map_get(&p->queues, key, &at))
		return p->all[at - 1];
	if (!make)
		return NULL;
	slot = vec_push(p->all, p->nall);
	kept = vec_push(p->keys, p->nkeys);
	if (slot)
		*slot = calloc(1, sizeof(**slot));
	if (!slot || !kept || !*slot || map_put(&p->queues, key, p->nall)) {
		p->tracks.failed = true;
		return NULL;
	}
	*kept = key;
	return *slot;
}

static uint32_t reserve_lane(struct perfetto *p, struct lanes *lanes)
{
	bool *busy;

	for (size_t i = 0; i < lanes->nlanes; i++)
		if (!lanes->busy[i]) {
			lanes->busy[i] = true;
			return (uint32_t)i;
		}
	busy = vec_push(lanes->busy, lanes->nlanes);
	if (!busy) {
		p->tracks.failed = true;
		return 0;
	}
	*busy = true;
	return (uint32_t)lanes->nlanes - 1;
}

static struct outstanding *add_outstanding(struct perfetto *p, struct lanes *lanes)
{
	if (lanes->first == lanes->n)
		lanes->first = lanes->n = 0;
	if (lanes->first > lanes->n / 2 && lanes->n == lanes->size) {
		lanes->n -= lanes->first;
		memmove(lanes->requests, lanes->requests + lanes->first,
			lanes->n * sizeof(*lanes->requests));
		lanes->first = 0;
	}
	if (vec_reserve(lanes->requests, lanes->size, lanes->n + 1)) {
		p->tracks.failed = true;
		return NULL;
	}
	lanes->nout++;
	return &lanes->requests[lanes->n++];
}

static void push_message(struct perfetto *p, struct lanes *lanes, uint64_t flow)
{
	if (lanes->first_message == lanes->nmessages)
		lanes->first_message = lanes->nmessages = 0;
	if (vec_reserve(lanes->messages, lanes->messages_size, lanes->nmessages + 1))
		p->tracks.failed = true;
	else
		lanes->messages[lanes->nmessages++] = flow;
}

static void count_outstanding(struct perfetto *p, uint32_t object, int64_t time)
{
	uint64_t track = object_track(p, OF_OUTSTANDING, object, object, "outstanding"), n = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct lanes *lanes = find_lanes(p, object, side, false);

		n += lanes ? lanes->nout : 0;
	}
	tracks_count(&p->tracks, track, time, n);
}

/* Begin the instant of a post or a poll; the fields that follow belong to it. */
static void begin_instant(struct perfetto *p, const struct trace_event *event, enum verb verb)
{
	char text[32];

	tracks_begin_event(&p->tracks, TRACK_INSTANT, thread_track(p, event->id.thread),
			   NAME_VERB + verb);
	tracks_add_text_note(&p->tracks, NOTE_EVENT, event_id_text(event->id, text));
}

static void begin_request(struct perfetto *p, const struct trace_event *event, uint32_t index,
			  struct lanes *lanes, uint64_t flow)
{
	const struct post *post = event->post;
	const struct wr *wr = &post->wr[index];
	int side = post_is_send(post) ? SENDS : RECEIVES;
	uint32_t lane = reserve_lane(p, lanes);
	uint64_t track = lane_track(p, (uint64_t)post->object << 1 | (unsigned int)side, lane);
	struct outstanding *request = add_outstanding(p, lanes);
	uint32_t name = side == RECEIVES ? NAME_RECEIVE
			: wr->opcode >= 0 && wr->opcode < 16 && wr->opcode != 12 && wr->opcode != 13
				? NAME_OPCODE + (uint32_t)wr->opcode
				: NAME_REQUEST;
	char text[32], whole[48];

	if (!request)
		return;
	*request = (struct outstanding){ event->id, index, lane, flow, false };
	if (side == SENDS && operation_takes_receive(wr->opcode) && !lanes->broken)
		push_message(p, lanes, flow);
	tracks_begin_event(&p->tracks, TRACK_BEGIN, track, name);
	snprintf(whole, sizeof(whole), "%s[%u]", event_id_text(event->id, text), index);
	tracks_add_text_note(&p->tracks, NOTE_EVENT, whole);
	tracks_add_note(&p->tracks, NOTE_ID, (int64_t)wr->wr_id);
	tracks_add_note(&p->tracks, NOTE_BYTES, (int64_t)wr_bytes(wr));
	tracks_add_flow(&p->tracks, flow);
	tracks_end_event(&p->tracks, event->time);
}

static void put_post_event(struct perfetto *p, const struct trace_event *event)
{
	const struct post *post = event->post;
	int side = post_is_send(post) ? SENDS : RECEIVES;
	struct lanes *lanes = find_lanes(p, post->object, side, true);
	uint64_t first = p->flows + 1;
	uint32_t n = post_taken(post);

	begin_instant(p, event, post->verb);
	tracks_add_note(&p->tracks, NOTE_RESULT, post->ret);
	for (uint32_t i = 0; i < n; i++)
		tracks_add_flow(&p->tracks, ++p->flows);
	tracks_end_event(&p->tracks, event->time);
	for (uint32_t i = 0; lanes && i < n; i++)
		begin_request(p, event, i, lanes, first + i);
	if (n)
		count_outstanding(p, post->object, event->time);
	p->posted += n;
}

static struct outstanding *find_outstanding(struct lanes *lanes, const struct wc *wc)
{
	for (size_t i = lanes->first; i < lanes->n; i++)
		if (!lanes->requests[i].over && lanes->requests[i].id.n == wc->request.n &&
		    lanes->requests[i].id.thread == wc->request.thread &&
		    lanes->requests[i].index == wc->request_index)
			return &lanes->requests[i];
	return NULL;
}

static void end_request(struct perfetto *p, uint64_t key, struct lanes *lanes,
			struct outstanding *request, const struct wc *wc, int64_t time)
{
	if (request->over)
		return;
	tracks_begin_event(&p->tracks, TRACK_END, lane_track(p, key, request->lane), 0);
	if (wc)
		tracks_add_note(&p->tracks, NOTE_STATUS, wc->status);
	tracks_end_event(&p->tracks, time);
	request->over = true;
	lanes->busy[request->lane] = false;
	lanes->nout--;
}

/* The entry of @wc's request: on a queue of the queue pair, or on its SRQ. */
static struct outstanding *find_request(struct perfetto *p, const struct wc *wc,
					struct lanes **ret_lanes, uint64_t *ret_key)
{
	const struct object *qp = trace_object(p->trace, wc->qp);
	const struct life *life =
		qp ? model_life(p->pass.model, qp->process, OBJECT_qp, qp->handle) : NULL;
	const struct life *srq =
		life && life->qp && life->qp->srq
			? model_life(p->pass.model, qp->process, OBJECT_srq, life->qp->srq)
			: NULL;
	uint32_t objects[SIDES + 1] = { wc->qp, wc->qp, srq ? srq->id : 0 };

	for (int i = 0; i <= SIDES; i++) {
		int side = i ? RECEIVES : SENDS;
		struct lanes *lanes = objects[i] ? find_lanes(p, objects[i], side, false) : NULL;
		struct outstanding *found = lanes ? find_outstanding(lanes, wc) : NULL;

		if (found) {
			*ret_lanes = lanes;
			*ret_key = (uint64_t)objects[i] << 1 | (unsigned int)side;
			return found;
		}
	}
	return NULL;
}

/* The message that a receive has taken: the oldest of its peer; 0: not known. */
static uint64_t pop_message(struct perfetto *p, const struct wc *wc)
{
	const struct object *qp = trace_object(p->trace, wc->qp);
	const struct life *life =
		qp ? model_life(p->pass.model, qp->process, OBJECT_qp, qp->handle) : NULL;
	struct peer *other = life && life->peer && life->id == wc->qp
				     ? peer_find_other(model_peers(p->pass.model), life->peer)
				     : NULL;
	struct lanes *lanes = other ? find_lanes(p, other->id, SENDS, false) : NULL;

	if (!lanes || wc->status || lanes->first_message == lanes->nmessages)
		return 0;
	return lanes->messages[lanes->first_message++];
}

static void break_messages(struct lanes *lanes)
{
	lanes->broken = true;
	lanes->first_message = lanes->nmessages = 0;
}

static void end_completed(struct perfetto *p, const struct wc *wc, int64_t time)
{
	struct lanes *lanes;
	uint64_t key;
	struct outstanding *request = find_request(p, wc, &lanes, &key);
	bool sends = request && !(key & 1);

	if (!request)
		return;
	if (sends && wc->status)
		break_messages(lanes);
	for (struct outstanding *at = &lanes->requests[lanes->first]; sends && at < request; at++)
		end_request(p, key, lanes, at, NULL, time);
	end_request(p, key, lanes, request, wc, time);
	while (lanes->first < lanes->n && lanes->requests[lanes->first].over)
		lanes->first++;
	count_outstanding(p, (uint32_t)(key >> 1), time);
}

static void put_poll_event(struct perfetto *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;

	begin_instant(p, event, poll->verb);
	tracks_add_note(&p->tracks, NOTE_RESULT, poll->ret);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		struct lanes *lanes;
		uint64_t key, message;
		const struct outstanding *request = find_request(p, &poll->wc[i], &lanes, &key);

		if (request)
			tracks_add_flow(&p->tracks, request->flow);
		message = request && key & 1 ? pop_message(p, &poll->wc[i]) : 0;
		if (message)
			tracks_add_flow(&p->tracks, message);
	}
	tracks_end_event(&p->tracks, event->time);
	for (uint32_t i = 0; i < poll->nwc; i++)
		end_completed(p, &poll->wc[i], event->time);
}

static void count_pinned(struct perfetto *p, const struct trace_event *event)
{
	uint64_t id = track_of(OF_PINNED, event->process);
	struct track track = { .id = id,
			       .parent = track_of(OF_PROCESS, event->process),
			       .name = "pinned bytes",
			       .counter = true,
			       .bytes = true };

	if (event->call->verb != VERB_dereg_mr &&
	    strncmp(verb_infos[event->call->verb].name, "ibv_reg_", 8) != 0)
		return;
	describe_process(p, event->process);
	tracks_describe(&p->tracks, &track);
	tracks_count(&p->tracks, id, event->time,
		     model_pinned(p->pass.model, event->process)->bytes);
}

static void put_call_event(struct perfetto *p, const struct trace_event *event)
{
	uint32_t thread = event->id.thread, *depth = vec_at(p->depths, p->ndepths, thread);
	char text[32];

	if (!depth) {
		p->tracks.failed = true;
		return;
	}
	if (event->kind == TRACE_CALL) {
		tracks_begin_event(&p->tracks, TRACK_BEGIN, thread_track(p, thread),
				   NAME_VERB + event->call->verb);
		tracks_add_text_note(&p->tracks, NOTE_EVENT, event_id_text(event->id, text));
		tracks_end_event(&p->tracks, event->time);
		++*depth;
	} else if (*depth) {
		tracks_begin_event(&p->tracks, TRACK_END, thread_track(p, thread), 0);
		tracks_add_note(&p->tracks, NOTE_RESULT, event->call->ret);
		tracks_end_event(&p->tracks, event->time);
		--*depth;
		count_pinned(p, event);
	}
}

/* Write the rates of the windows that end by @time; of several empty windows, one is written. */
static void count_rate(struct perfetto *p, int64_t time)
{
	struct track track = { .id = track_of(OF_RATE, 0), .name = "requests/s", .counter = true };
	int64_t window = time / RATE_WINDOW;

	if (window <= p->window)
		return;
	tracks_describe(&p->tracks, &track);
	tracks_count(&p->tracks, track.id, (p->window + 1) * RATE_WINDOW,
		     p->posted * RATE_PER_SECOND);
	if (window > p->window + 1 && p->posted)
		tracks_count(&p->tracks, track.id, (p->window + 2) * RATE_WINDOW, 0);
	p->window = window;
	p->posted = 0;
}

static bool is_asked_for(const struct perfetto *p, const struct trace_event *event)
{
	const struct profile_select *select = p->select;

	return !event->carried && event->time >= select->from &&
	       (!select->to || event->time < select->to) &&
	       (!select->process || event->process == select->process);
}

static void put_trace_event(struct perfetto *p, const struct trace_event *event)
{
	bool call = event->kind == TRACE_CALL || event->kind == TRACE_RETURN;

	if (!is_asked_for(p, event) || (call && event->call->ours))
		return;
	count_rate(p, event->time);
	if (call)
		put_call_event(p, event);
	else if (event->kind == TRACE_POST && !event->inner)
		put_post_event(p, event);
	else if (event->kind == TRACE_POLL && !event->inner)
		put_poll_event(p, event);
}

/* Slices that are still open end with the trace, without a status. */
static void end_open_slices(struct perfetto *p)
{
	for (size_t i = 0; i < p->nall && i < p->nkeys; i++)
		for (size_t j = p->all[i]->first; j < p->all[i]->n; j++)
			end_request(p, p->keys[i], p->all[i], &p->all[i]->requests[j], NULL, 0);
	for (uint32_t thread = 1; thread < p->ndepths; thread++)
		for (; p->depths[thread]; p->depths[thread]--) {
			tracks_begin_event(&p->tracks, TRACK_END, thread_track(p, thread), 0);
			tracks_end_event(&p->tracks, 0);
		}
}

static void free_perfetto(struct perfetto *p)
{
	for (size_t i = 0; i < p->nall; i++) {
		if (p->all[i]) {
			free(p->all[i]->requests);
			free(p->all[i]->busy);
			free(p->all[i]->messages);
		}
		free(p->all[i]);
	}
	free(p->all);
	free(p->keys);
	free(p->depths);
	map_fini(&p->queues);
	tracks_fini(&p->tracks);
}

int perfetto_write(FILE *file, struct trace *trace, const struct profile_select *select)
{
	static const struct model_watcher nothing = { .states_only = true };
	const char *start = trace_meta(trace, "realtime");
	struct perfetto p = { .trace = trace, .select = select, .tracks = { .file = file } };
	int more, err = pass_init(&p.pass, trace, NULL, false, &nothing);

	more = err;
	if (!err)
		tracks_begin(&p.tracks, start ? strtoull(start, NULL, 10) : 0);
	while (!err && !p.tracks.failed && (more = pass_step(&p.pass)) > 0)
		if (p.pass.event)
			put_trace_event(&p, p.pass.event);
	if (!more && !p.tracks.failed)
		end_open_slices(&p);
	if (p.tracks.failed)
		more = log_err(-ENOMEM, "make the tracks");
	pass_fini(&p.pass);
	free_perfetto(&p);
	return more < 0 ? more : 0;
}
