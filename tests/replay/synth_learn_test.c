/*
 * replay/synth/synth_learn.c: which queue pairs need another end, before the first event is
 * replayed
 *
 * RC was connected, UD sends datagrams. Which ends are in the trace, and what its events show,
 * comes from functions of the test.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/finish/connections.h"
#include "replay/state/recorded.h"
#include "replay/synth/synth_pass.h"
#include "replay/two_host/pair.h"
#include "tests/test.h"

enum { RC = 1, UD, RAW, NOBJECTS };

static struct connections connections;
static struct replay replay;
static struct synthesized far;
static struct synth_plan *plans[NOBJECTS];
static struct synth_plan *rc, *ud;
static struct trace_event events[3];
static size_t nevents, at_event, nlearned;
static int open_error, learn_error, close_error;
static uint32_t no_host, claimed;
static unsigned int nclosed;
static void (*on_event)(void);

bool pair_has(const struct replay *r, uint32_t object, int64_t time)
{
	(void)r;
	assert_int_equal(object, RC);
	return time == 30; /* the other half has that */
}

bool peers_is_claimed(const struct peers *peers, uint32_t object)
{
	(void)peers;
	return object == claimed;
}

uint32_t recorded_peer(const struct replay *r, uint32_t id, int64_t time)
{
	(void)r;
	(void)id;
	return time == 10 ? UD : 0; /* the trace has the receiver */
}

uint32_t synth_host_find(const struct pass *p, const struct synth_plan *plan,
			 const struct ibv_ah_attr *av)
{
	assert_ptr_equal(p->far->plans[plan->object], plan);
	return av->dlid == no_host ? 0 : av->dlid + 100u;
}

const struct thread *trace_thread(struct trace *trace, uint32_t id)
{
	static const struct thread thread;

	(void)trace;
	return id <= 2 ? &thread : NULL;
}

int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor)
{
	(void)trace;
	assert_null(filter);
	*ret_cursor = (struct cursor *)(void *)&at_event;
	return open_error;
}

int cursor_next(struct cursor *cursor, const struct trace_event **ret_event)
{
	(void)cursor;
	*ret_event = &events[at_event];
	return at_event++ < nevents;
}

void cursor_close(struct cursor *cursor)
{
	(void)cursor;
}

int synth_learn_event(struct pass *p, const struct trace_event *event)
{
	assert_non_null(p->announcements);
	assert_int_equal(p->nseen, 3);
	assert_ptr_equal(event, &events[nlearned]);
	nlearned++;
	if (on_event)
		on_event();
	return learn_error;
}

int synth_close_requests(struct pass *p, struct synth_plan *plan, size_t end)
{
	(void)p;
	assert_int_equal(end, plan->nopen);
	nclosed++;
	return close_error;
}

void synth_fini(struct replay *r)
{
	for (uint32_t i = 0; i < NOBJECTS; i++) {
		if (far.plans[i])
			free(far.plans[i]->links);
		free(far.plans[i]);
		far.plans[i] = NULL;
	}
	r->far = NULL;
}

static void add_link(struct synth_plan *plan, uint32_t number, int64_t time)
{
	struct synth_link *link = vec_push(plan->links, plan->nlinks);

	link->number = number;
	link->av.dlid = (uint16_t)number;
	link->time = time;
}

static struct synth_plan *add_plan(uint32_t object, enum ibv_qp_type type)
{
	struct synth_plan *plan = calloc(1, sizeof(*plan));

	plan->object = object;
	plan->type = type;
	plan->at = 9;
	replay.far->plans[object] = plan;
	return plan;
}

static int begin_learning(void **state)
{
	(void)state;
	far = (struct synthesized){ .plans = plans };
	replay = (struct replay){ .nreplicas = NOBJECTS, .far = &far, .connections = &connections };
	nevents = 3;
	at_event = nlearned = 0;
	open_error = learn_error = close_error = 0;
	no_host = claimed = 0;
	nclosed = 0;
	on_event = NULL;
	rc = add_plan(RC, IBV_QPT_RC);
	ud = add_plan(UD, IBV_QPT_UD);
	return 0;
}

static int end_learning(void **state)
{
	(void)state;
	synth_fini(&replay);
	return 0;
}

FIXTURE(begin_learning, end_learning);

TEST(connections_that_lead_out_of_the_trace_have_a_host)
{
	(void)state;
	add_link(rc, 20, 10);
	add_link(rc, 21, 20);
	add_link(rc, 22, 30);
	add_link(rc, 23, 40);
	assert_int_equal(synth_learn_traffic(&replay), 0);
	assert_true(rc->needed);
	assert_int_equal(rc->links[0].host, 0);
	assert_int_equal(rc->links[1].host, 121);
	assert_int_equal(rc->links[2].host, 0);
	assert_int_equal(rc->links[3].host, 123);
	assert_int_equal(nlearned, 3);
	assert_int_equal(nclosed, 2);
	assert_int_equal(rc->at, 0);
	assert_int_equal(rc->nlinks, 4);
}

static const struct type_row {
	const char *name;
	enum ibv_qp_type type;
	bool needed;
} types[] = {
	{ "rc_is_connected", IBV_QPT_RC, true },
	{ "uc_is_connected", IBV_QPT_UC, true },
	{ "xrc_send_is_connected", IBV_QPT_XRC_SEND, true },
	{ "xrc_recv_is_connected", IBV_QPT_XRC_RECV, true },
	{ "raw_packets_are_not_connected", IBV_QPT_RAW_PACKET, false },
};

static void expect_type(void **state)
{
	const struct type_row *row = *state;

	begin_learning(state);
	rc->type = row->type;
	add_link(rc, 21, 20);
	assert_int_equal(synth_learn_traffic(&replay), 0);
	if (row->needed)
		assert_true(rc->needed);
	assert_int_equal(replay.far != NULL, row->needed);
	end_learning(state);
}

TEST_ROWS(types, expect_type);

TEST(a_peer_that_another_queue_pair_claims_is_in_the_trace)
{
	(void)state;
	add_link(rc, 21, 20);
	claimed = RC;
	assert_int_equal(synth_learn_traffic(&replay), 0);
	assert_null(replay.far);
}

TEST(nothing_is_kept_if_all_ends_are_in_the_trace)
{
	(void)state;
	add_link(rc, 20, 10);
	ud->type = IBV_QPT_RAW_PACKET;
	assert_int_equal(synth_learn_traffic(&replay), 0);
	assert_null(replay.far);
	assert_int_equal(nlearned, 0); /* the events are not read */
}

static void need_datagrams(void)
{
	ud->needed = true;
}

TEST(datagrams_may_need_an_end_that_events_show)
{
	(void)state;
	add_link(ud, 21, 10); /* of ibv_modify_qp(), which connects none */
	on_event = need_datagrams;
	assert_int_equal(synth_learn_traffic(&replay), 0);
	assert_int_equal(nlearned, 3);
	assert_int_equal(ud->nlinks, 0);
	assert_true(ud->needed);
}

TEST(errors_end_the_pass)
{
	(void)state;
	add_link(rc, 21, 20);
	no_host = 21;
	assert_int_equal(synth_learn_traffic(&replay), -ENOMEM);
	assert_int_equal(nlearned, 0);
	no_host = 0;
	learn_error = -EIO;
	assert_int_equal(synth_learn_traffic(&replay), -EIO);
	assert_int_equal(nlearned, 1);
	assert_int_equal(nclosed, 0);
	open_error = -EBADMSG;
	assert_int_equal(synth_learn_traffic(&replay), -EBADMSG);
	assert_int_equal(nlearned, 1);
	open_error = learn_error = 0;
	at_event = nlearned = 0;
	close_error = -ENOMEM;
	assert_int_equal(synth_learn_traffic(&replay), -ENOMEM);
	assert_int_equal(nclosed, 1);
	assert_non_null(replay.far);
}

/* Datagrams of the trace: to UD by others of it; from unknown numbers, of which @named is there. */
static uint64_t sent_to, heard, strange, named;

static void show_datagrams(void)
{
	ud->sent_to = sent_to;
	ud->heard = heard;
	ud->needed = true;
	if (ud->nlinks)
		return;
	add_link(ud, 21, 0);
	add_link(ud, 22, 0);
	ud->links[0].host = 1;
	ud->links[0].heard = strange;
	ud->links[1].host = named ? 2 : 0;
	ud->links[1].heard = named;
	ud->links[1].named = named;
}

static void learn_datagrams(uint64_t to, uint64_t from, uint64_t unknown, uint64_t with_name)
{
	sent_to = to;
	heard = from;
	strange = unknown;
	named = with_name;
	on_event = show_datagrams;
	add_link(rc, 21, 20); /* the plan is needed anyway */
	rc->links[0].heard = 3;
	rc->sent_to = 9;
	assert_int_equal(synth_learn_traffic(&replay), 0);
	assert_true(rc->needed);
	assert_int_equal(rc->links[0].host, 121);
}

TEST(a_wrong_number_needs_no_end)
{
	(void)state;
	learn_datagrams(5, 2, 3, 0);
	assert_false(ud->needed);
	assert_int_equal(ud->links[0].host, 0);
}

TEST(more_datagrams_than_were_sent_have_another_sender)
{
	(void)state;
	learn_datagrams(4, 2, 3, 0);
	assert_true(ud->needed);
	assert_int_equal(ud->links[0].host, 1);
}

TEST(a_number_that_sent_nothing_is_not_wrong_for_that)
{
	(void)state;
	learn_datagrams(5, 2, 0, 0);
	assert_true(ud->needed);
	assert_int_equal(ud->links[0].host, 1);
}

TEST(a_number_that_was_named_stays)
{
	(void)state;
	learn_datagrams(6, 2, 3, 7);
	assert_true(ud->needed);
	assert_int_equal(ud->links[0].host, 0);
	assert_int_equal(ud->links[1].host, 2);
}
