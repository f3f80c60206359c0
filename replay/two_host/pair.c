/*
 * A pair: two replays on two hosts at the same time, each of one half of a program
 *
 *	open      connect, prove that both have the key               meet.c, admit.c, wire.c
 *	meet      learn this half, send it, match queue pairs          pair_learn.c, pair_match.c
 *	begin     wait until both are ready
 *	  events  wait for earlier events of the other host, report progress         pair_order.c
 *	end       wait until both are done, and only then destroy the objects
 *
 * Not here: messages (pair_exchange.c), waiting (pair_wait.c).
 */
#include "replay/two_host/pair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/two_host/admit.h"
#include "replay/two_host/meet.h"
#include "replay/two_host/pack.h"
#include "replay/two_host/pair_match.h"
#include "replay/two_host/pair_priv.h"
#include "replay/report/pace.h"
#include "replay/state/recorded.h"

#define HELLO 5000000000ll /* ns in which both replays must prove that they have the key */

static int admit_peer_replay(struct pair *p, const struct meet_address *at)
{
	const struct pair_options *o = p->r->options->pair;
	const struct admit_options admit = {
		.key = o->key,
		.key_length = o->key_length,
		.deadline = wire_now() + o->wait,
		.patience = HELLO,
		.ended = pace_has_ended,
	};
	int fd = meet_listen(at);

	return fd < 0 ? fd : admit_peer(fd, &admit, &p->wire);
}

static int connect_to_replay(struct pair *p, const struct meet_address *at)
{
	const struct pair_options *o = p->r->options->pair;
	char why[WIRE_WHY];
	int fd, err = meet_connect(at, wire_now() + o->wait, pace_has_ended, &fd);

	if (err)
		return err;
	err = wire_open(fd, p->role, o->key, o->key_length, wire_now() + HELLO, why, &p->wire);
	return err ? log_err(err, "replay: %s", why) : 0;
}

static int open_wire_to_peer(struct pair *p)
{
	const struct pair_options *o = p->r->options->pair;
	struct meet_address at;

	if (meet_parse(o->listen ?: o->peer, o->listen, &at))
		return log_err(-EINVAL, "replay: read the address %s", o->listen ?: o->peer);
	return o->listen ? admit_peer_replay(p, &at) : connect_to_replay(p, &at);
}

int pair_open(struct replay *r)
{
	const struct pair_options *o = r->options->pair;
	struct pair *p;

	if (!o)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return log_err(-ENOMEM, "replay: prepare for the other replay");
	p->r = r;
	p->role = o->listen ? WIRE_LISTENER : WIRE_PEER;
	p->credit.message = PAIR_CREDIT;
	p->done.message = PAIR_DONE;
	pthread_mutex_init(&p->lock, NULL);
	r->pair = p;
	return open_wire_to_peer(p) ?: pair_exchange(p);
}

/* Report why the line to the other replay was lost: -errno; 0: it was not. */
static int report_lost_line(struct pair *p)
{
	char bye[PAIR_WHY];
	int err;

	pthread_mutex_lock(&p->lock);
	err = p->err;
	memcpy(bye, p->bye, sizeof(bye));
	pthread_mutex_unlock(&p->lock);
	if (*bye)
		return log_why(-ECONNRESET, "replay: the other replay has ended, %s", bye);
	if (err == -EBADMSG)
		return log_why(-EREMOTEIO,
			       "replay: the data from the other replay was modified in transit");
	if (err == -ETIMEDOUT)
		return log_err(err, "replay: the other replay no longer responds");
	return err ? log_err(err, "replay: the other replay has closed the connection") : 0;
}

static bool has_table(const struct pair *p, uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
	return p->its_table;
}

static bool is_ready(const struct pair *p, uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
	return p->its_ready;
}

static bool has_peer_ended(const struct pair *p, uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
	return p->its_end;
}

/* Wait for a condition before the replays begin, or when they end; @what: for the message. */
static int await_condition(struct pair *p, pair_condition *is_so, const char *what)
{
	int64_t wait = p->r->options->pair->wait;
	int err;

	if (pair_await(p, is_so, 0, 0, wait > pair_wait_limit(p) ? wait : pair_wait_limit(p)))
		return 0;
	err = report_lost_line(p);
	if (err)
		return err;
	return pace_has_ended() ? -ECANCELED
				: log_why(-ETIMEDOUT, "replay: the other replay %s", what);
}

static int allocate_counts(struct pair *p)
{
	size_t mine = p->mine.nlives + 1, its = p->its.nlives + 1, streams = p->mine.nstreams + 1;

	p->of_mine = calloc(mine, sizeof(*p->of_mine));
	p->of_its = calloc(its, sizeof(*p->of_its));
	p->there = calloc(its, sizeof(*p->there));
	p->credits = calloc(p->its.nstreams + 1, sizeof(*p->credits));
	p->credit.at = calloc(streams, sizeof(*p->credit.at));
	p->credit.changed = calloc(streams, sizeof(*p->credit.changed));
	p->done.at = calloc(mine, sizeof(*p->done.at));
	p->done.changed = calloc(mine, sizeof(*p->done.changed));
	if (!p->of_mine || !p->of_its || !p->there || !p->credits || !p->credit.at ||
	    !p->credit.changed || !p->done.at || !p->done.changed)
		return -ENOMEM;
	for (size_t i = 0; i < p->its.nstreams; i++) {
		const struct pair_stream *s = &p->its.streams[i];

		if (map_put(&p->streams, (uint64_t)s->life << 32 | s->source, i + 1))
			return -ENOMEM;
	}
	return 0;
}

static void send_pair(struct pair *p, size_t i)
{
	const struct pair_life *life = &p->mine.lives[i], *other;
	const struct object *o = trace_object(p->r->trace, life->object);

	if (!p->of_mine[i] && life->connected) {
		p->unmatched++;
		outcome_note(p->r->outcome,
			     "%s of process %u, connected to number %u, has no peer in the trace "
			     "of the other host (%s): the replay synthesizes it",
			     o->name, o->process, life->dest, pair_match_why(&p->mine, i, &p->its));
		return;
	}
	if (!p->of_mine[i])
		return;
	other = &p->its.lives[p->of_mine[i] - 1];
	outcome_note(p->r->outcome,
		     "%s of process %u, number %u, is connected to number %u of process %u on the "
		     "other host",
		     o->name, o->process, life->number, other->number, other->process);
}

enum { PAIRS_SHOWN = 16 };

static void report_pairs(struct pair *p)
{
	size_t told = 0, joined = 0, datagrams = 0;

	for (size_t i = 0; i < p->mine.nlives; i++) {
		if (told < PAIRS_SHOWN && (p->of_mine[i] || p->mine.lives[i].connected)) {
			send_pair(p, i);
			told++;
		}
		joined += p->of_mine[i] != 0;
	}
	for (size_t i = 0; i < p->its.nlives; i++)
		datagrams += p->its.lives[i].type == IBV_QPT_UD;
	if (!joined && !datagrams)
		outcome_note_gap(
			p->r->outcome,
			"no queue pair of this trace has its peer in the trace of the other "
			"host");
	else if (joined > PAIRS_SHOWN)
		outcome_note(p->r->outcome, "%zu queue pairs are connected in total", joined);
}

int pair_meet(struct replay *r)
{
	struct pair *p = r->pair;
	bool listens;
	int err;

	if (!p)
		return 0;
	listens = p->role == WIRE_LISTENER;
	err = pair_learn(p);
	if (err)
		return err;
	pair_send_table(p);
	err = await_condition(p, has_table, "does not send its queue pairs");
	if (!err && allocate_counts(p))
		err = log_err(-ENOMEM, "replay: join the two halves");
	if (err)
		return err;
	pair_match(listens ? &p->mine : &p->its, listens ? &p->its : &p->mine,
		   listens ? p->of_mine : p->of_its, listens ? p->of_its : p->of_mine);
	report_pairs(p);
	return 0;
}

int pair_begin(struct replay *r)
{
	struct pair *p = r->pair;
	int err;

	if (!p)
		return 0;
	pair_send(p, PAIR_READY, NULL, 0);
	err = await_condition(p, is_ready, "does not start");
	pthread_mutex_lock(&p->lock);
	p->moved = wire_now();
	pthread_mutex_unlock(&p->lock);
	if (!err)
		pace_set_other(pair_has_progress, p);
	return err;
}

int pair_end(struct replay *r, bool differs)
{
	struct pair *p = r->pair;
	int err;

	if (!p || !p->line)
		return 0;
	pace_set_other(NULL, NULL);
	if (outcome_stopped(r->outcome))
		return p->its_end ? 0 : report_lost_line(p);
	pair_send(p, PAIR_END, (uint64_t[]){ differs }, 1);
	err = await_condition(p, has_peer_ended, "does not finish");
	if (!err && p->its_differs)
		outcome_note(r->outcome, "the replay on the other host differs: see its report");
	return err;
}

static void send_bye(struct pair *p, int err)
{
	uint8_t bytes[PAIR_WHY + 2];
	struct pack pack = { .at = bytes, .end = bytes + sizeof(bytes) };
	char why[PAIR_WHY];

	if (err == -ECANCELED || pace_has_ended())
		snprintf(why, sizeof(why), "early, as requested");
	else
		snprintf(why, sizeof(why), "early: %s", strerror(-err));
	pack_text(&pack, why);
	line_send(p->line, PAIR_BYE, bytes, (size_t)(pack.at - bytes));
}

void pair_fini(struct replay *r, int err)
{
	struct pair *p = r->pair;

	if (!p)
		return;
	pace_set_other(NULL, NULL);
	if (err && p->line)
		send_bye(p, err);
	line_close(p->line);
	wire_close(p->wire);
	pair_table_fini(&p->mine);
	pair_table_fini(&p->its);
	for (size_t i = 0; p->needs && i < p->mine.nstreams; i++)
		free(p->needs[i].posted);
	free(p->of_mine);
	free(p->of_its);
	free(p->own);
	free(p->needs);
	free(p->now);
	free(p->first);
	free(p->av);
	free(p->posted);
	free(p->there);
	free(p->credits);
	free(p->keys);
	free(p->credit.at);
	free(p->credit.changed);
	free(p->done.at);
	free(p->done.changed);
	map_fini(&p->failed);
	map_fini(&p->avs);
	map_fini(&p->binds);
	map_fini(&p->bound);
	map_fini(&p->sent_to);
	map_fini(&p->streams);
	map_fini(&p->key_of);
	pthread_mutex_destroy(&p->lock);
	free(p);
	r->pair = NULL;
}

bool pair_has(const struct replay *r, uint32_t object, int64_t time)
{
	const struct pair *p = r->pair;
	uint32_t life = p ? p->first[object] : 0;

	for (; life; life = p->own[life - 1].next)
		if (p->own[life - 1].time == time && p->of_mine[life - 1])
			return true;
	return false;
}

bool pair_is_joined(const struct replay *r, uint32_t object)
{
	return r->pair && pair_other_of(r->pair, object);
}

static bool is_life_created(const struct pair *p, uint64_t life, uint64_t b)
{
	(void)b;
	return p->there[life].made;
}

static uint32_t await_qp_num(struct pair *p, uint32_t other)
{
	pair_await(p, is_life_created, other - 1, 0, pair_wait_limit(p));
	return __atomic_load_n(&p->there[other - 1].number, __ATOMIC_RELAXED);
}

static const struct port *port_of(const struct pair *p, uint32_t other)
{
	return &p->its.ports[p->its.lives[other - 1].port].here;
}

bool pair_connect(struct replay *r, uint32_t object, uint32_t *ret_number, enum ibv_mtu *ret_mtu)
{
	uint32_t other = r->pair ? pair_other_of(r->pair, object) : 0;

	if (!other)
		return false;
	*ret_number = await_qp_num(r->pair, other);
	*ret_mtu = port_of(r->pair, other)->mtu;
	return true;
}

static void translate_path(const struct device *from, const struct port *to, struct ibv_ah_attr *av)
{
	const struct device device = { .ports = { [1] = *to } };

	devices_translate(from, &device, 1, av);
}

void pair_translate_path(struct replay *r, uint32_t object, const struct device *from,
			 struct ibv_ah_attr *av)
{
	translate_path(from, port_of(r->pair, pair_other_of(r->pair, object)), av);
}

bool pair_translate_address(struct replay *r, const struct device *from, struct ibv_ah_attr *av)
{
	const struct pair_port *port = r->pair ? pair_match_port(&r->pair->its, av) : NULL;

	if (!port)
		return false;
	translate_path(from, &port->here, av);
	return true;
}

static bool has_key(const struct pair *p, uint64_t key, uint64_t b)
{
	uint64_t at;

	(void)b;
	return map_get(&p->key_of, key, &at) && !p->keys[at - 1].gone;
}

/* Does the request need a valid key? With length 0 programs use any key: UCX flushes so. */
static bool needs_key(const struct pair *p, const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];
	uint64_t length = wr->opcode == IBV_WR_SEND_WITH_INV;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length && pair_status_of(p, event, index) == IBV_WC_SUCCESS;
}

void pair_translate_remote(struct replay *r, const struct trace_event *event, uint32_t index,
			   uint64_t *addr, uint32_t *rkey)
{
	struct pair *p = r->pair;
	uint32_t other = pair_other_of(p, event->post->object);
	uint64_t key = process_key(p->its.lives[other - 1].process, *rkey), at;
	const struct pair_key *found;

	if (needs_key(p, event, index))
		pair_await(p, has_key, key, 0, pair_wait_limit(p));
	pthread_mutex_lock(&p->lock);
	if (map_get(&p->key_of, key, &at)) {
		found = &p->keys[at - 1];
		*rkey = found->rkey;
		*addr += found->replayed_base - found->recorded_base;
	}
	pthread_mutex_unlock(&p->lock);
}

uint32_t pair_find_datagram_qp(struct replay *r, const struct trace_event *event,
			       const struct wr *wr)
{
	uint32_t other = r->pair ? pair_find_target(r->pair, event, wr) : 0;

	return other ? await_qp_num(r->pair, other) : 0;
}

bool pair_has_datagram(const struct replay *r, uint32_t number, const struct ibv_ah_attr *av)
{
	return r->pair && pair_match_datagram(&r->pair->its, number, av);
}

uint32_t pair_find_source(struct replay *r, const struct wc *wc)
{
	struct pair *p = r->pair;
	uint32_t other = p ? pair_match_datagram(&p->its, wc->src_qp, NULL) : 0;
	uint32_t own = p ? recorded_datagram(r, 0, wc->src_qp, NULL, r->last) : 0;

	/* the program's own QP number probably equals one of the other host */
	return other && (!own || own == wc->qp) ? await_qp_num(p, other) : 0;
}
