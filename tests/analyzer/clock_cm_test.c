/*
 * analyzer/model/clock_cm.c: which calls and events of two ends order their clocks
 *
 * Each story is run as it is, and again without each of its steps: clock_cm_test.txt.
 */
#include "analyzer/model/clock_cm.h"

#include "core/store/read/joint.h"
#include "core/store/read/trace.h"
#include "tests/transcript.h"

enum { STEPS = 24, NONE = -1 };

/* Process 1 is in part 0, process 2 in part 1, and process 3 in part 0, too. */
enum { HERE = 1, THERE, BESIDE };

/* A call; or, with an @event, the call that received it. */
struct step {
	enum verb verb;
	uint32_t process;
	int64_t begin, end;
	uint64_t id;
	const char *event, *from, *to; /* without RDMA_CM_EVENT_; own address and the other's */
	const char *more;              /* JSON of the event, or of the arguments */
	bool failed;
};

#define CALL(verb_, process_, begin_, id_, ...)                                  \
	{                                                                        \
		.verb = VERB_rdma_##verb_, .process = process_, .begin = begin_, \
		.end = begin_ + 1, .id = id_, __VA_ARGS__                        \
	}
#define GETS(event_, process_, begin_, end_, id_, from_, to_, ...)                                 \
	{                                                                                          \
		.verb = VERB_rdma_get_cm_event, .process = process_, .begin = begin_, .end = end_, \
		.id = id_, .event = event_, .from = from_, .to = to_, __VA_ARGS__                  \
	}

static const struct story {
	const char *name;
	struct step steps[STEPS];
} stories[] = {
	{ "connected",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(accept, THERE, 140, 2), GETS("CONNECT_RESPONSE", HERE, 150, 160, 1, "a", "b"),
	    CALL(establish, HERE, 170, 1), GETS("ESTABLISHED", THERE, 165, 180, 2, "b", "a"),
	    CALL(disconnect, HERE, 200, 1), GETS("DISCONNECTED", THERE, 210, 220, 2, "b", "a"),
	    CALL(disconnect, THERE, 230, 2), GETS("DISCONNECTED", HERE, 235, 240, 1, "a", "b"),
	    CALL(destroy_id, HERE, 250, 1), CALL(destroy_id, THERE, 260, 2) } },
	{ "by librdmacm itself, with the number that was passed",
	  { CALL(connect, HERE, 90, 1), /* of an identifier that is not known yet */
	    GETS("ROUTE_RESOLVED", HERE, 10, 20, 1, "a", "b"),
	    CALL(connect, HERE, 100, 1, .more = ", \"conn_param\": {\"qp_num\": 9}"),
	    CALL(connect, HERE, 105, 1, .more = ", \"conn_param\": {\"qp_num\": 9}"),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 9}"),
	    CALL(accept, THERE, 140, 2), CALL(accept, THERE, 141, 2),
	    GETS("ESTABLISHED", HERE, 150, 160, 1, "a", "b"),
	    GETS("ESTABLISHED", HERE, 152, 162, 1, "a", "b"), CALL(notify, THERE, 161, 2),
	    CALL(establish, HERE, 170, 1), GETS("ESTABLISHED", THERE, 165, 180, 2, "b", "a"),
	    GETS("DISCONNECTED", THERE, 210, 220, 2, "b", "a", .more = ", \"status\": -110"),
	    CALL(disconnect, THERE, 230, 2), CALL(destroy_ep, THERE, 231, 2),
	    GETS("DISCONNECTED", HERE, 235, 240, 1, "a", "b") } },
	{ "rejected",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(reject, THERE, 140, 2), CALL(destroy_id, THERE, 150, 2),
	    GETS("REJECTED", HERE, 150, 160, 1, "a", "b", .more = ", \"status\": 28") } },
	{ "rejected after it was accepted",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(accept, THERE, 132, 2), CALL(destroy_id, THERE, 140, 2),
	    CALL(reject_ece, THERE, 150, 2), GETS("REJECTED", HERE, 150, 160, 1, "a", "b") } },
	{ "a request that is destroyed",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(destroy_id, THERE, 145, 2), GETS("REJECTED", HERE, 150, 160, 1, "a", "b") } },
	{ "the active end rejects",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(accept, THERE, 132, 2), CALL(reject, HERE, 150, 1), CALL(destroy_id, HERE, 160, 1),
	    GETS("REJECTED", THERE, 150, 170, 2, "b", "a") } },
	{ "datagrams",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\""),
	    CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\""),
	    CALL(accept, THERE, 140, 2),
	    GETS("ESTABLISHED", HERE, 150, 160, 1, "a", "b",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\""),
	    GETS("ESTABLISHED", THERE, 165, 180, 2, "b", "a",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\"") } },
	{ "datagrams, rejected",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\""),
	    CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\", \"ud\": {\"qp_num\": 7}"),
	    CALL(reject, THERE, 140, 2),
	    GETS("UNREACHABLE", HERE, 150, 155, 1, "a", "b",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\", \"status\": -110"),
	    GETS("UNREACHABLE", HERE, 150, 160, 1, "a", "b",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\", \"status\": 4") } },
	{ "a connection that is unreachable",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(reject, THERE, 140, 2),
	    GETS("UNREACHABLE", HERE, 150, 160, 1, "a", "b", .more = ", \"status\": 4") } },
	{ "iWARP",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a"), CALL(accept, THERE, 140, 2),
	    GETS("ESTABLISHED", HERE, 150, 160, 1, "a", "b"),
	    GETS("ESTABLISHED", THERE, 165, 180, 2, "b", "a"), CALL(disconnect, HERE, 200, 1),
	    GETS("DISCONNECTED", THERE, 210, 220, 2, "b", "a") } },
	{ "two requests of the same addresses",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", THERE, 131, 135, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 4, "b", "c",
		 .more = ", \"conn\": {\"qp_num\": 7}") } },
	{ "several connections",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("ADDR_RESOLVED", HERE, 10, 20, 3, "a", "c"), CALL(connect, HERE, 110, 3),
	    GETS("ADDR_RESOLVED", THERE, 10, 20, 5, "d", "a"), CALL(connect, THERE, 120, 5),
	    GETS("CONNECT_REQUEST", THERE, 90, 140, 4, "c", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", HERE, 90, 150, 6, "a", "d",
		 .more = ", \"conn\": {\"qp_num\": 8}") } },
	{ "in one part",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", BESIDE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}") } },
	{ "a queue pair of another process",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 8}") } },
	{ "one end is of datagrams",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"qp_type\": \"IBV_QPT_UD\", \"conn\": {\"qp_num\": 7}") } },
	{ "failures, and calls that have not returned",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"),
	    CALL(connect, HERE, 100, 1, .failed = true),
	    GETS("CONNECT_REQUEST", THERE, 90, NONE, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", THERE, 90, 131, 2, "b", "a", .failed = true),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(destroy_id, THERE, 135, 2, .failed = true), CALL(accept, THERE, 140, 2),
	    GETS("ESTABLISHED", HERE, 150, 160, 1, "a", "b") } },
	{ "an identifier at the address of another one",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "a", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "a",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    CALL(destroy_id, THERE, 135, 2), CALL(accept, THERE, 140, 2),
	    GETS("ADDR_RESOLVED", THERE, 145, 150, 2, "b", "e"),
	    GETS("ESTABLISHED", HERE, 150, 160, 1, "a", "b") } },
	{ "no addresses, no identifier",
	  { GETS("ADDR_RESOLVED", HERE, 10, 20, 1, "", "b"), CALL(connect, HERE, 100, 1),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 2, "b", "",
		 .more = ", \"conn\": {\"qp_num\": 7}"),
	    GETS("CONNECT_REQUEST", THERE, 90, 130, 0, "b", "a") } },
};

static struct text shown;
static struct clock_edge edge;

size_t trace_part_of(const struct trace *trace, uint32_t process)
{
	(void)trace;
	return process == THERE;
}

struct clock_edge *clock_edge_get(struct clock_edges *edges, uint32_t one, uint32_t other)
{
	assert_null(edges->all);
	text_addf(&shown, " %u-%u", one, other);
	return &edge;
}

void clock_edge_add_order(const struct clock_edge *of, struct bounds *bounds, uint32_t part,
			  int64_t before, int64_t after)
{
	assert_ptr_equal(of, &edge);
	assert_ptr_equal(bounds, &edge.objects);
	text_addf(&shown, " %u:%d<%d", part, (int)before, (int)after);
}

static struct args *make_args(enum verb verb, enum args_side side, const struct text *json)
{
	return args_new_of(verb, side, json->at, strlen(json->at));
}

static void make_call(const struct step *step, struct call *call)
{
	struct text in = { 0 }, out = { 0 };

	text_addf(&in, "{\"id\": %d%s}", (int)step->id, step->event ? "" : step->more ?: "");
	text_addf(&out, "{\"ret\": 0");
	if (step->event)
		text_addf(
			&out,
			", \"event\": {\"event\": \"RDMA_CM_EVENT_%s\", \"id\": %d, \"src_addr\": "
			"\"%s\", \"dst_addr\": \"%s\"%s}",
			step->event, (int)step->id, step->from, step->to, step->more ?: "");
	text_addf(&out, "}");
	*call = (struct call){ .verb = step->verb,
			       .begin = step->begin,
			       .end = step->end,
			       .failed = step->failed,
			       .args = make_args(step->verb, ARGS_IN, &in),
			       .out = make_args(step->verb, ARGS_OUT, &out) };
	assert_int_equal(args_parse(call->args) | args_parse(call->out), 0);
	text_fini(&in);
	text_fini(&out);
}

static void run_step(struct clock_cm *cm, const struct step *step)
{
	struct call call;
	struct trace_event event = {
		.kind = TRACE_CALL, .process = step->process, .time = step->begin, .call = &call
	};

	make_call(step, &call);
	assert_int_equal(clock_cm_process_event(cm, &event), 0);
	event.kind = TRACE_RETURN;
	assert_int_equal(clock_cm_process_event(cm, &event), 0);
	args_unref(call.args);
	args_unref(call.out);
}

/* The orders that follow from a story without one of its steps. */
static void run_story(const struct story *story, int without)
{
	struct clock_cm *cm = clock_cm_new(NULL);
	struct clock_edges edges = { 0 };

	assert_non_null(cm);
	edge = (struct clock_edge){ 0 };
	assert_int_equal(clock_cm_add_qp(cm, HERE, 7), 0);
	assert_int_equal(clock_cm_add_qp(cm, THERE, 8), 0);
	for (int i = 0; i < STEPS && story->steps[i].process; i++)
		if (i != without)
			run_step(cm, &story->steps[i]);
	clock_cm_finish(cm, &edges);
	text_addf(&shown, " (%u)\n", edge.connections);
	clock_cm_free(cm);
}

TEST(orders_are_those_of_causes_and_effects)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
		const struct story *story = &stories[i];

		text_addf(&shown, "%s\n\t", story->name);
		run_story(story, NONE);
		for (int k = 0; k < STEPS && story->steps[k].process; k++) {
			text_addf(&shown, "\twithout %s:",
				  story->steps[k].event ?: verb_infos[story->steps[k].verb].name);
			run_story(story, k);
		}
	}
	transcript_expect(__FILE__, &shown);
}

TEST(free_accepts_null)
{
	clock_cm_free(NULL);
}
