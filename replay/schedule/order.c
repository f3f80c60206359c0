/*
 * The order in which events are replayed
 *
 *	source -> | window of events, in the order of their keys | -> order_next()
 *	     evidence is added at the right, and moves earlier events
 *
 * Times alone do not determine the order of calls that overlapped: a post has the time when it
 * began, a destroy is done when it returned, and the end of a process has the time when the
 * recorder noticed it. Later events are evidence:
 *
 *	a send failed because its region was destroyed           the destroy comes before the send
 *	a send failed because the peer did not answer any more   the peer's destroy, or the end of
 *	                                                         its process, comes before the send
 *	a request of two threads' queue completed after another  it was posted after that
 *	a listener got a request sent before it listened         order_listen.c
 *	an event of an identifier was received                   the destroy, which had begun, comes
 *	                                                         after it
 *
 * A call is not moved to before it began, and not across another event of its thread. The evidence
 * comes after the event that it moves; an event that has left the window is not moved.
 */
#include "replay/schedule/order.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "replay/schedule/order_listen.h"

enum {
	WINDOW = 2048,      /* events looked ahead, */
	MORE = 128,         /* additional events, so that the window is not filled for each event */
	WINDOW_MAX = 32768, /* or this many while the outcome of the first is unknown */
	ROOM = 2 * WINDOW_MAX, /* size of the array that contains the moving window */
	SPARE = 64,            /* free entries for events that one event may add */
};

#define KEY_STEP (1ull << 20) /* distance between the keys of two consecutive events */

/* An event that was added to those of the source: a call or a process ends earlier. */
struct moved_event {
	struct moved_event *next;
	struct trace_event event;
	bool instead; /* the source's own event comes later, and must be dropped */
};

/* A post to a queue that several threads post to. */
struct posted_event {
	struct event_id id;
	uint64_t key;
};

struct racing_posts {
	struct posted_event last;   /* post */
	struct posted_event *posts; /* ring, used once a second thread has posted */
	unsigned int size, head, tail;
	struct posted_event done; /* the last one that completed; key 0: none */
};

struct order {
	struct order_source source;
	struct relations *relations;
	struct entry *entries; /* ROOM entries; the window is from head to tail */
	unsigned int head, tail;
	uint64_t key;                /* key of the last event */
	int end;                     /* 1: there are more events; else the result of the source */
	int64_t newest;              /* the time of the last event of the source */
	struct racing_posts *racing; /* by object and side */
	bool raced;                  /* several threads have posted to a queue */
	struct map pending;          /* posts whose outcome may move an event */
	int64_t soonest; /* the time of the last event of the first process that ended */
	struct moved_event *made;
};

static bool is_same(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

/* The index of @key in the window, or of the next one after it. */
static unsigned int find_key(const struct order *o, uint64_t key)
{
	unsigned int low = o->head, high = o->tail;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (o->entries[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The event with that kind and number; the tail if it is not in the window. */
static unsigned int find_event(const struct order *o, enum trace_event_kind kind,
			       struct event_id id)
{
	unsigned int i = o->tail;

	while (i-- > o->head)
		if (o->entries[i].event->kind == kind && is_same(o->entries[i].event->id, id))
			return i;
	return o->tail;
}

/* Does @thread have an event from @from to before @to? */
static bool has_thread(const struct order *o, uint32_t thread, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		if (o->entries[from].event->id.thread == thread)
			return true;
	return false;
}

/* Move entry @from to the index of @to; it gets a key between those of its neighbours. */
static void move_entry(struct order *o, unsigned int from, unsigned int to)
{
	struct entry entry = o->entries[from];

	if (from < to) {
		memmove(&o->entries[from], &o->entries[from + 1],
			(to - from) * sizeof(*o->entries));
		entry.key = o->entries[to - 1].key + 1;
	} else {
		entry.key = o->entries[to].key;
		memmove(&o->entries[to + 1], &o->entries[to], (from - to) * sizeof(*o->entries));
	}
	o->entries[to] = entry;
}

static void insert_entry(struct order *o, unsigned int at, const struct trace_event *event)
{
	memmove(&o->entries[at + 1], &o->entries[at], (o->tail - at) * sizeof(*o->entries));
	o->entries[at] =
		(struct entry){ event, NULL, at < o->tail ? o->entries[at + 1].key : o->key + 1,
				false };
	o->tail++;
}

static struct moved_event *make_event(struct order *o, const struct trace_event *like,
				      enum trace_event_kind kind)
{
	struct moved_event *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->event = *like;
	made->event.kind = kind;
	made->instead = true;
	made->next = o->made;
	o->made = made;
	return made;
}

/* Has an added event already replaced @event of the source? Then @event must be dropped. */
static bool is_replaced(struct order *o, const struct trace_event *event)
{
	for (struct moved_event *m = o->made; m; m = m->next)
		if (m->instead && m->event.kind == event->kind &&
		    (event->kind == TRACE_EXIT ? m->event.process == event->process
					       : is_same(m->event.id, event->id))) {
			m->instead = false;
			return true;
		}
	return false;
}

/*
 * Replay a call at its begin, not at its return. Returns the index of the begin, or the tail if the
 * call did not begin in the window.
 */
static unsigned int replay_at_begin(struct order *o, struct event_id call)
{
	unsigned int i = find_event(o, TRACE_CALL, call);
	struct moved_event *made;

	if (i == o->tail)
		return i;
	made = make_event(o, o->entries[i].event, TRACE_RETURN);
	if (!made)
		return o->tail;
	o->entries[i].event = &made->event;
	return i;
}

/* The event at @at must come before the post at @post; no call is moved before it began. */
static void move_before_post(struct order *o, unsigned int post, unsigned int at)
{
	uint32_t poster = o->entries[post].event->id.thread;

	if (at > post && !has_thread(o, poster, post + 1, at + 1))
		move_entry(o, post, at);
}

/* The call @destroyed made a request of the post fail: place that call before the post. */
static void place_destroy(struct order *o, struct event_id post, struct event_id destroyed)
{
	unsigned int p = find_event(o, TRACE_POST, post);
	unsigned int end = find_event(o, TRACE_RETURN, destroyed);
	unsigned int begin = find_event(o, TRACE_CALL, destroyed);

	if (p == o->tail || (end != o->tail && end < p))
		return;
	if (end == o->tail) { /* the destroy has not returned yet */
		begin = replay_at_begin(o, destroyed);
		if (begin != o->tail && begin > p)
			move_before_post(o, p, begin);
		else if (begin < p && !has_thread(o, destroyed.thread, begin + 1, p))
			/* calls that succeeded until then come before the destroy */
			move_entry(o, begin, p - 1);
	} else if (begin == o->tail || begin < p) {
		if (!has_thread(o, destroyed.thread, p, end))
			move_entry(o, end, p);
	} else {
		move_before_post(o, p, end);
	}
}

static void order_invalid_key(struct order *o, const struct trace_event *poll, const struct wc *wc)
{
	const struct object *peer =
		o->source.object(o->source.arg, relation_of(o->relations, wc->qp)->peer);
	unsigned int p = find_event(o, TRACE_POST, wc->request);
	const struct post *post = p == o->tail ? NULL : o->entries[p].event->post;
	const struct object *region;

	if (!post || !peer || wc->request_index >= post->nwr)
		return;
	region = o->source.destroyed(o->source.arg, peer->process, post->wr[wc->request_index].rkey,
				     o->entries[p].event->time);
	if (region && region->destroyed_at < poll->time)
		place_destroy(o, wc->request, region->destroyed);
}

static bool has_moved_exit(const struct order *o, uint32_t process)
{
	for (const struct moved_event *m = o->made; m; m = m->next)
		if (m->event.kind == TRACE_EXIT && m->event.process == process)
			return true;
	return false;
}

/* The index of the end of @process; the tail if it is not in the window. */
static unsigned int find_exit(const struct order *o, uint32_t process)
{
	for (unsigned int i = o->head; i < o->tail; i++)
		if (o->entries[i].event->kind == TRACE_EXIT &&
		    o->entries[i].event->process == process)
			return i;
	return o->tail;
}

/* Move the end of process @id before the request, but not before its own last event. */
static void place_exit(struct order *o, struct event_id request, uint32_t id, int64_t last)
{
	const struct trace_event like = { .process = id, .time = last };
	unsigned int p = find_event(o, TRACE_POST, request), at = p;
	unsigned int exit = find_exit(o, id);
	struct moved_event *made;

	if (p == o->tail || has_moved_exit(o, id))
		return; /* the first evidence has moved it */
	while (at < o->tail && o->entries[at].event->time <= last)
		at++;
	if (exit < at)
		return;
	if (exit < o->tail) {
		move_entry(o, exit, at);
	} else {
		made = o->tail < ROOM ? make_event(o, &like, TRACE_EXIT) : NULL;
		if (!made)
			return;
		insert_entry(o, at, &made->event);
	}
	move_before_post(o, p, at);
}

/* Place call @stop, which stopped the peer and is replayed at its begin, before the request. */
static void move_stop_before(struct order *o, struct event_id request, struct event_id stop)
{
	unsigned int p = find_event(o, TRACE_POST, request);
	unsigned int at = find_event(o, TRACE_CALL, stop);

	if (p != o->tail && at != o->tail)
		move_before_post(o, p, at);
}

/* The peer did not answer: place what stopped it before the request. */
static void order_unanswered(struct order *o, const struct trace_event *poll, const struct wc *wc)
{
	uint32_t peer = relation_of(o->relations, wc->qp)->peer;
	const struct relation *of = relation_of(o->relations, peer);
	const struct object *qp = o->source.object(o->source.arg, peer);
	int64_t last;

	if (!peer || !qp)
		return;
	if (of->stopped) {
		move_stop_before(o, wc->request, of->end);
	} else if (qp->destroyed.thread && qp->destroyed_at < poll->time) {
		place_destroy(o, wc->request, qp->destroyed);
	} else {
		last = o->source.last_time(o->source.arg, qp->process);
		if (last < poll->time)
			place_exit(o, wc->request, qp->process, last);
	}
}

/* Move the call that stopped @qp, or the begin of that call, behind a successful request. */
static void move_behind_request(struct order *o, const struct wc *wc, uint32_t qp)
{
	const struct relation *of = relation_of(o->relations, qp);
	unsigned int p, stop;

	if (!of->stopped)
		return;
	stop = find_event(o, TRACE_CALL, of->end);
	p = find_event(o, TRACE_POST, wc->request);
	if (p != o->tail && stop < p && !has_thread(o, of->end.thread, stop + 1, p + 1))
		move_entry(o, stop, p);
}

static void order_success(struct order *o, const struct wc *wc)
{
	if (wc->opcode & IBV_WC_RECV)
		return;
	move_behind_request(o, wc, wc->qp);
	move_behind_request(o, wc, relation_of(o->relations, wc->qp)->peer);
}

/* Two posts to one queue: @first completed before @second: put the posts in this order. */
static void swap_posts(struct order *o, const struct posted_event *first,
		       struct posted_event *second)
{
	unsigned int a = find_key(o, first->key), b = find_key(o, second->key);

	while (a < o->tail && !is_same(o->entries[a].event->id, first->id))
		a++;
	while (b < o->tail && !is_same(o->entries[b].event->id, second->id))
		b++;
	if (a >= o->tail || b >= a)
		return;
	if (!has_thread(o, second->id.thread, b + 1, a + 1)) {
		move_entry(o, b, a);
		second->key = o->entries[a].key;
	} else if (!has_thread(o, first->id.thread, b, a)) {
		move_entry(o, a, b);
	}
}

static struct racing_posts *racing_of(struct order *o, uint32_t object, unsigned int side)
{
	return object < o->relations->nobjects ? &o->racing[2 * object + side] : NULL;
}

static struct posted_event *find_posted(struct racing_posts *racing, struct event_id id)
{
	for (unsigned int i = racing->head; i != racing->tail; i++)
		if (is_same(racing->posts[i % racing->size].id, id))
			return &racing->posts[i % racing->size];
	return NULL;
}

static void order_racing_posts(struct order *o, const struct wc *wc)
{
	for (unsigned int side = 0; o->raced && side < 2; side++) {
		struct racing_posts *racing = racing_of(o, wc->qp, side);
		struct posted_event *posted =
			racing && racing->posts ? find_posted(racing, wc->request) : NULL;

		if (!posted || is_same(posted->id, racing->done.id))
			continue;
		if (racing->done.key > posted->key)
			swap_posts(o, &racing->done, posted);
		racing->done = *posted;
		return;
	}
}

static int grow_racing(struct racing_posts *racing)
{
	unsigned int size = racing->size ? 2 * racing->size : 64;
	struct posted_event *posts = calloc(size, sizeof(*posts));

	if (!posts)
		return -ENOMEM;
	for (unsigned int i = racing->head; i != racing->tail; i++)
		posts[i % size] = racing->posts[i % racing->size];
	free(racing->posts);
	racing->posts = posts;
	racing->size = size;
	return 0;
}

static int remember_post(struct order *o, struct racing_posts *racing,
			 const struct posted_event *posted)
{
	while (racing->head != racing->tail &&
	       racing->posts[racing->head % racing->size].key < o->entries[o->head].key)
		racing->head++;
	if (racing->tail - racing->head == racing->size && grow_racing(racing))
		return -ENOMEM;
	racing->posts[racing->tail++ % racing->size] = *posted;
	return map_put(&o->pending, event_key(posted->id), 1);
}

/* Note a post. Posts of one thread do not overlap: they are stored once a second thread posts. */
static int note_post(struct order *o, const struct trace_event *event)
{
	struct racing_posts *racing = racing_of(o, event->post->object, !post_is_send(event->post));
	struct posted_event before;

	if (!racing)
		return 0;
	before = racing->last;
	racing->last = (struct posted_event){ event->id, o->key };
	if (!racing->posts && (!before.key || before.id.thread == event->id.thread))
		return 0;
	o->raced = true;
	if (!racing->posts && remember_post(o, racing, &before))
		return -ENOMEM;
	return remember_post(o, racing, &racing->last);
}

/* Note a send to a process after its last event: the completion shows if the process was alive. */
static int note_late_send(struct order *o, const struct trace_event *event)
{
	uint32_t peer = relation_of(o->relations, event->post->object)->peer;
	const struct object *qp = peer ? o->source.object(o->source.arg, peer) : NULL;

	if (!qp || !post_is_send(event->post) ||
	    event->time <= o->source.last_time(o->source.arg, qp->process))
		return 0;
	return map_put(&o->pending, event_key(event->id), 1);
}

/* Note that the request failed by itself, and not only because its queue pair had stopped. */
static void note_failed(struct order *o, const struct wc *wc)
{
	unsigned int p = find_event(o, TRACE_POST, wc->request);

	if (p != o->tail && post_is_send(o->entries[p].event->post))
		o->entries[p].stops = true;
}

static void note_poll(struct order *o, const struct trace_event *event)
{
	for (uint32_t i = 0; i < event->poll->nwc; i++) {
		const struct wc *wc = &event->poll->wc[i];

		if (!wc->request.thread)
			continue;
		if (o->pending.used)
			map_remove(&o->pending, event_key(wc->request));
		order_racing_posts(o, wc);
		if (wc->status == IBV_WC_SUCCESS)
			order_success(o, wc);
		else if (wc->status != IBV_WC_WR_FLUSH_ERR)
			note_failed(o, wc);
		if (wc->status == IBV_WC_REM_ACCESS_ERR)
			order_invalid_key(o, event, wc);
		else if (wc->status == IBV_WC_RETRY_EXC_ERR)
			order_unanswered(o, event, wc);
	}
}

/*
 * The last event is an rdma_listen(): move calls of its thread before the connection requests that
 * it received.
 */
static void place_listener(struct order *o, uint32_t thread)
{
	unsigned int at = o->head;

	if (o->source.heard)
		at += order_find_unheard(&o->entries[at], o->tail - at, o->source.heard);
	for (unsigned int i = at; o->source.heard && i < o->tail; i++)
		if (o->entries[i].event->id.thread == thread)
			move_entry(o, i, at++);
}

/* Has rdma_destroy_id() of @id begun, but not returned at @event? */
static bool is_destroying(const struct order *o, const struct trace_event *begun,
			  const struct trace_event *event, int64_t id)
{
	const struct object *object;

	if (begun->kind != TRACE_CALL || begun->call->verb != VERB_rdma_destroy_id ||
	    begun->process != event->process || begun->call->end <= event->time)
		return false;
	object = o->source.object(o->source.arg, begun->call->object);
	return object && (int64_t)object->handle == id;
}

/*
 * The last event is a return of rdma_get_cm_event(): the identifier of its event existed until
 * then. rdma_destroy_id() returns only after the event has been acknowledged.
 */
static int place_destroy_id(struct order *o, const struct trace_event *event)
{
	int err = event->call->failed ? 0 : args_parse(event->call->out);
	unsigned int last = o->tail - 1;
	int64_t id = 0;

	if (err || event->call->failed || !args_get(event->call->out, ARG(event.id), &id))
		return err;
	for (unsigned int i = last; i-- > o->head;)
		if (is_destroying(o, o->entries[i].event, event, id)) {
			move_entry(o, i, last);
			break;
		}
	return 0;
}

static int take_event(struct order *o, const struct trace_event *event)
{
	int err = relations_note(o->relations, event);

	o->newest = event->time;
	if (!err && is_replaced(o, event)) {
		o->source.release(o->source.arg, event);
		return 0;
	}
	o->key += KEY_STEP;
	o->entries[o->tail++] = (struct entry){ event, event, o->key, false };
	if (!err && event->kind == TRACE_POST && !event->inner)
		err = note_post(o, event)
			      ?: event->time > o->soonest ? note_late_send(o, event)
							  : 0;
	else if (!err && event->kind == TRACE_POLL && !event->inner)
		note_poll(o, event);
	else if (!err && event->kind == TRACE_CALL && event->call->verb == VERB_rdma_listen)
		place_listener(o, event->id.thread);
	else if (!err && event->kind == TRACE_RETURN && event->call->verb == VERB_rdma_get_cm_event)
		err = place_destroy_id(o, event);
	return err;
}

static void compact_entries(struct order *o)
{
	memmove(o->entries, &o->entries[o->head], (o->tail - o->head) * sizeof(*o->entries));
	o->tail -= o->head;
	o->head = 0;
}

/*
 * May the first event of the window still be moved? The events of the source are in the order of
 * time, so the times tell whether a call has returned.
 */
static bool is_first_pending(const struct order *o)
{
	const struct trace_event *event = o->entries[o->head].event;
	uint64_t value;

	if (event->kind == TRACE_POST)
		return o->pending.used && map_get(&o->pending, event_key(event->id), &value);
	if (event->kind != TRACE_CALL || event->call->end < o->newest || event->call->end < 0 ||
	    verb_infos[event->call->verb].effect != EFFECT_DESTROY)
		return false;
	return event->call->end > o->newest || find_event(o, TRACE_RETURN, event->id) == o->tail;
}

static bool is_full(const struct order *o)
{
	unsigned int n = o->tail - o->head;

	if (!n)
		return false;
	return n >= WINDOW_MAX || o->source.is_short(o->source.arg) ||
	       (n >= WINDOW + MORE && !is_first_pending(o));
}

static __attribute__((noinline)) void fill_window(struct order *o)
{
	const struct trace_event *event;
	int err;

	while (o->end > 0 && !is_full(o)) {
		if (o->tail + SPARE > ROOM)
			compact_entries(o);
		o->end = o->source.next(o->source.arg, &event);
		err = o->end > 0 ? take_event(o, event) : 0;
		if (err < 0)
			o->end = err;
	}
}

int order_next(struct order *o, struct ordered_event *ret_event)
{
	if (o->tail - o->head < WINDOW || is_first_pending(o))
		fill_window(o);
	if (o->head == o->tail)
		return o->end;
	*ret_event = (struct ordered_event){ o->entries[o->head].event, o->entries[o->head].origin,
					     o->entries[o->head].stops };
	if (o->pending.used && o->entries[o->head].event->kind == TRACE_POST)
		map_remove(&o->pending, event_key(o->entries[o->head].event->id));
	o->head++;
	return 1;
}

void order_release(const struct order *o, const struct ordered_event *event)
{
	if (event->origin)
		o->source.release(o->source.arg, event->origin);
}

int order_new(const struct order_source *source, struct relations *relations,
	      struct order **ret_order)
{
	struct order *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->source = *source;
	o->relations = relations;
	o->end = 1;
	o->soonest = o->source.soonest;
	o->entries = calloc(ROOM, sizeof(*o->entries));
	o->racing = calloc(2 * (size_t)relations->nobjects, sizeof(*o->racing));
	if (!o->entries || !o->racing) {
		order_free(o);
		return -ENOMEM;
	}
	*ret_order = o;
	return 0;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	while (o->made) {
		struct moved_event *made = o->made;

		o->made = made->next;
		free(made);
	}
	for (uint32_t i = 0; o->racing && i < 2 * o->relations->nobjects; i++)
		free(o->racing[i].posts);
	free(o->racing);
	map_fini(&o->pending);
	free(o->entries);
	free(o);
}
