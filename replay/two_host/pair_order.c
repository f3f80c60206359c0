/*
 * The order between the two halves, as revealed by verbs
 *
 *	event of this half                waits until, on the other host
 *	a request that was answered       the queue pair is in RTR
 *	a message that was received       the receive is posted that it consumes
 *	a request to a key                the region is registered, or the window bound
 *	                                  (pair_translate_remote())
 *	RETRY_EXC_ERR                     the queue pair is gone
 *	REM_ACCESS_ERR                    the key is closed, if it is before the queue pair leaves
 *	a reset, an error, a destroy      the requests are complete that needed the object
 *	another key of a window           likewise (pair_keys.c)
 *
 * All of these held when the trace was recorded, except three that are uncertain: a list of
 * requests may have been posted before the receives that its last ones consume, the network may
 * have lost a connection, a key may have been refused for another reason. So these three waits are
 * shorter, and a queue pair that has waited in vain twice no longer waits for receives.
 */
#include "core/model/operation.h"
#include "replay/device/dispatch.h"
#include "replay/two_host/pair_match.h"
#include "replay/two_host/pair_priv.h"
#include "replay/state/recorded.h"

enum { VAIN_MOST = 2 };

uint32_t pair_life_of(const struct pair *p, uint32_t object)
{
	return object < p->r->nreplicas ? p->now[object] : 0;
}

uint32_t pair_other_of(const struct pair *p, uint32_t object)
{
	uint32_t life = pair_life_of(p, object);

	return life ? p->of_mine[life - 1] : 0;
}

enum ibv_wc_status pair_status_of(const struct pair *p, const struct trace_event *event,
				  uint32_t index)
{
	uint64_t status = IBV_WC_SUCCESS;

	map_get(&p->failed, event_part_key(event->id, index), &status);
	return (enum ibv_wc_status)status;
}

static bool is_listening(const struct pair *p, uint64_t life, uint64_t b)
{
	(void)b;
	return p->there[life].listens || p->there[life].gone;
}

static bool is_life_destroyed(const struct pair *p, uint64_t life, uint64_t b)
{
	(void)b;
	return p->there[life].gone;
}

static bool has_room(const struct pair *p, uint64_t stream, uint64_t n)
{
	return p->credits[stream] >= n;
}

static bool is_key_closed(const struct pair *p, uint64_t key, uint64_t life)
{
	uint64_t at;

	return p->there[life].leaves || !map_get(&p->key_of, key, &at) || p->keys[at - 1].gone;
}

/* The datagram queue pair of the other host that @wr goes to: 1 + its index. */
uint32_t pair_find_target(struct pair *p, const struct trace_event *event, const struct wr *wr)
{
	const struct object *ah =
		trace_object_at(p->r->trace, event->process, OBJECT_ah, wr->ah, event->time);
	const struct ibv_ah_attr *av = NULL;
	uint64_t at;

	if (ah && map_get(&p->avs, ah->id, &at))
		av = &p->av[at - 1];
	if (recorded_datagram(p->r, 0, wr->remote_qpn, av, event->time))
		return 0;
	return pair_match_datagram(&p->its, wr->remote_qpn, av);
}

/* Wait until a receive is posted for message @n of @stream of @life. */
static void await_room(struct pair *p, uint32_t life, uint32_t stream, uint64_t n)
{
	struct pair_own_life *own = &p->own[life - 1];

	if (stream && own->vain < VAIN_MOST &&
	    !pair_await(p, has_room, stream - 1, n, pair_check_interval(p)))
		own->vain++;
}

static uint32_t find_stream(const struct pair *p, uint32_t other, uint32_t source)
{
	uint64_t at;

	return map_get(&p->streams, (uint64_t)(other - 1) << 32 | source, &at) ? (uint32_t)at : 0;
}

/* Wait until the other host is ready for request @index of a connected queue pair. */
static void await_request(struct pair *p, const struct trace_event *event, uint32_t index,
			  uint32_t life, uint64_t *messages)
{
	const struct wr *wr = &event->post->wr[index];
	enum ibv_wc_status status = pair_status_of(p, event, index);
	uint32_t other = p->of_mine[life - 1];
	uint32_t process = p->its.lives[other - 1].process;

	*messages += operation_takes_receive(wr->opcode);
	if (status == IBV_WC_RETRY_EXC_ERR)
		pair_await(p, is_life_destroyed, other - 1, 0, p->r->options->timeout);
	else if (operation_is_answered((int)status))
		pair_await(p, is_listening, other - 1, 0, pair_wait_limit(p));
	if (status == IBV_WC_REM_ACCESS_ERR)
		pair_await(p, is_key_closed, process_key(process, wr->rkey), other - 1,
			   pair_check_interval(p));
	if (status == IBV_WC_SUCCESS && operation_takes_receive(wr->opcode))
		await_room(p, life, find_stream(p, other, 0), *messages);
}

/* The number of datagrams sent to life @other of the other host so far; stored in @value. */
static uint64_t *count_datagrams(struct pair *p, uint32_t life, uint32_t other, uint64_t *value)
{
	*value = 0;
	map_get(&p->sent_to, (uint64_t)life << 32 | other, value);
	return value;
}

static void await_datagram(struct pair *p, const struct trace_event *event, uint32_t index,
			   uint32_t life)
{
	uint32_t other = pair_find_target(p, event, &event->post->wr[index]);
	uint64_t sent;

	if (!other)
		return;
	pair_await(p, is_listening, other - 1, 0, pair_wait_limit(p));
	count_datagrams(p, life, other, &sent);
	await_room(p, life, find_stream(p, other, p->mine.lives[life - 1].number), sent + 1);
	map_put(&p->sent_to, (uint64_t)life << 32 | other, sent + 1);
}

static void await_for_post(struct pair *p, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t life = post_is_send(post) ? pair_life_of(p, post->object) : 0;
	bool datagrams = life && p->mine.lives[life - 1].type == IBV_QPT_UD;
	uint64_t messages;

	if (!life || !(datagrams || p->of_mine[life - 1]))
		return;
	messages = p->own[life - 1].sent;
	for (uint32_t i = 0; i < post_taken(post); i++) {
		if (datagrams)
			await_datagram(p, event, i, life);
		else
			await_request(p, event, i, life, &messages);
	}
	p->own[life - 1].sent = messages;
}

static void send_life(struct pair *p, enum pair_message message, uint32_t object)
{
	uint32_t life = pair_life_of(p, object);

	if (life)
		pair_send(p, message, (uint64_t[]){ life - 1 }, 1);
}

/* Wait until no outstanding request of the other half needs @object, which will be destroyed. */
static void await_finished(struct pair *p, uint32_t object)
{
	uint32_t other = pair_other_of(p, object);

	if (!other)
		return;
	send_life(p, PAIR_LEAVES, object);
	pair_await(p, pair_has_finished, other - 1, p->its.lives[other - 1].finished,
		   p->r->options->timeout);
}

/* Call @what for each queue pair and region of @process. */
static void each_object(struct pair *p, uint32_t process, void (*what)(struct pair *, uint32_t))
{
	for (uint32_t i = p->r->nmade; i-- > 0;) {
		uint32_t id = p->r->made[i];
		const struct object *o = trace_object(p->r->trace, id);

		if (o->process == process && p->r->replicas[id].handle &&
		    (o->kind == OBJECT_qp || o->kind == OBJECT_mr))
			what(p, id);
	}
}

static void await_before_destroy(struct pair *p, uint32_t object)
{
	await_finished(p, object);
	pair_await_unused(p, object);
}

static bool is_call(const struct trace_event *event)
{
	return (event->kind == TRACE_CALL || event->kind == TRACE_RETURN) && !event->inner &&
	       !event->call->ours && !event->call->depth && !event->call->failed &&
	       event->call->end >= 0;
}

static bool changes_windows(const struct trace_event *event)
{
	return event->kind == TRACE_POST ? !event->inner : is_call(event);
}

/* The state to which @call moves a queue pair; -1: none. */
static int64_t state_of(const struct call *call)
{
	int64_t state = -1;

	if (call->verb == VERB_modify_qp && !args_parse(call->args))
		args_get(call->args, ARG(attr.qp_state), &state);
	return state;
}

static void before_call(struct pair *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t state = event->kind == TRACE_CALL ? state_of(call) : -1;

	if (state == IBV_QPS_RESET || state == IBV_QPS_ERR)
		await_finished(p, call->object);
	if (event->kind != TRACE_RETURN)
		return;
	if (call->verb == VERB_destroy_qp)
		await_finished(p, call->object);
	else if (call->verb == VERB_dereg_mr || call->verb == VERB_rereg_mr)
		pair_await_unused(p, call->object);
}

void pair_wait_before(struct replay *r, const struct trace_event *event)
{
	struct pair *p = r->pair;

	if (!p)
		return;
	__atomic_add_fetch(&p->steps, 1, __ATOMIC_RELAXED);
	if (event->kind == TRACE_POST && !event->inner)
		await_for_post(p, event);
	else if (event->kind == TRACE_EXIT)
		each_object(p, event->process, await_before_destroy);
	else if (is_call(event))
		before_call(p, event);
	if (changes_windows(event))
		pair_await_windows(p, event);
}

/* The number of messages of stream @i for which receives are posted. */
static uint64_t count_credits(struct pair *p, size_t i)
{
	struct pair_needs *needs = &p->needs[i];

	if (needs->direct)
		return p->posted[needs->queue];
	while (needs->met < needs->n && needs->posted[needs->met] <= p->posted[needs->queue])
		needs->met++;
	return needs->met == needs->n ? UINT64_MAX : needs->met;
}

/* Is it the stream of a current life? */
static bool is_open(const struct pair *p, size_t i)
{
	uint32_t life = p->mine.streams[i].life;

	return pair_life_of(p, p->mine.lives[life].object) == life + 1;
}

static void send_credits(struct pair *p, uint32_t queue)
{
	for (uint32_t i = 0; i < p->mine.nstreams; i++)
		if (p->needs[i].queue == queue && is_open(p, i))
			pair_send_count(p, &p->credit, i, count_credits(p, i));
}

static void send_created(struct pair *p, uint32_t object)
{
	const struct replica *replica = replica_of(p->r, object);

	for (uint32_t life = pair_life_of(p, object); replica->number && life;
	     life = p->own[life - 1].next)
		pair_send(p, PAIR_MADE, (uint64_t[]){ life - 1, replica->number }, 2);
	if (pair_life_of(p, object))
		send_credits(p, p->own[pair_life_of(p, object) - 1].queue);
}

static void send_destroyed(struct pair *p, uint32_t object)
{
	const struct object *o = trace_object(p->r->trace, object);

	send_life(p, PAIR_GONE, object);
	if (o && o->kind == OBJECT_mr)
		pair_send(p, PAIR_CLOSED, (uint64_t[]){ o->process, o->rkey }, 2);
}

static void begin_life(struct pair *p, uint32_t object)
{
	uint32_t life = pair_life_of(p, object);
	const struct replica *replica = replica_of(p->r, object);

	if (!life || !p->own[life - 1].next)
		return;
	p->now[object] = p->own[life - 1].next;
	p->posted[object] = 0;
	if (replica->qp)
		p->own[p->now[object] - 1].base = replica->qp->out[SIDE_SEND].tail;
}

static void after_modify(struct pair *p, const struct call *call)
{
	switch (state_of(call)) {
	case IBV_QPS_RTR:
		send_life(p, PAIR_LISTEN, call->object);
		break;
	case IBV_QPS_ERR:
		send_life(p, PAIR_GONE, call->object);
		break;
	case IBV_QPS_RESET:
		send_life(p, PAIR_GONE, call->object);
		begin_life(p, call->object);
		break;
	default:
		break;
	}
}

static void after_call(struct pair *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	bool begins = event->kind == TRACE_CALL;

	switch (recorded_verb(call)) {
	case VERB_create_qp:
	case VERB_create_qp_ex:
		if (begins && replica_of(p->r, call->object))
			send_created(p, call->object);
		break;
	case VERB_modify_qp:
		if (begins && replica_of(p->r, call->object))
			after_modify(p, call);
		break;
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		if (begins)
			pair_send_key(p, call->object);
		break;
	case VERB_rereg_mr:
		if (begins)
			pair_send_new_key(p, call);
		break;
	case VERB_destroy_qp:
	case VERB_dereg_mr:
		if (!begins)
			send_destroyed(p, call->object);
		break;
	default:
		break;
	}
}

static void after_post(struct pair *p, const struct trace_event *event)
{
	const struct post *post = event->post;

	if (!post->object || post->object >= p->r->nreplicas)
		return;
	if (post_is_send(post))
		return;
	p->posted[post->object] += post_taken(post);
	send_credits(p, post->object);
}

static void after_poll(struct pair *p, const struct trace_event *event)
{
	for (uint32_t i = 0; i < event->poll->nwc; i++) {
		uint32_t object = event->poll->wc[i].qp, life = pair_life_of(p, object);
		const struct replica *replica = replica_of(p->r, object);

		if (life && p->of_mine[life - 1] && replica->qp)
			pair_send_count(p, &p->done, life - 1,
					replica->qp->out[SIDE_SEND].head - p->own[life - 1].base);
	}
}

void pair_report_after(struct replay *r, const struct trace_event *event)
{
	struct pair *p = r->pair;

	if (!p)
		return;
	if (event->kind == TRACE_POST && !event->inner)
		after_post(p, event);
	else if (event->kind == TRACE_POLL && !event->inner)
		after_poll(p, event);
	else if (is_call(event))
		after_call(p, event);
	if (changes_windows(event))
		pair_send_windows(p, event);
}
