/*
 * replay/two_host/pair_keys.c: windows that are bound and invalidated here, used from the other
 * host (regions: pair_order_test.c)
 *
 * Queue pair QP, region MR and window MW of process 1. The first 5 requests of life 0 of the other
 * half need key 65, the first 6 key 66.
 */
#include <stdio.h>

#include "replay/two_host/pair_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, MR, MW, NOBJECTS, TIMEOUT = 50 };

static char done[256]; /* "await 0 5, closed 1 65, key 1 66 1092 1000 2000" */

static struct replay replay;
static struct replica replicas[NOBJECTS];
static struct ibv_mw window;
static struct pair pair;
static struct replay_options options;
static struct pair_life mine[1];
static struct pair_use uses[] = { { .rkey = 65, .last = 5 }, { .rkey = 66, .last = 6 } };
static uint32_t of_its[1];

static void note_step(const char *what, const uint64_t *numbers, size_t n)
{
	size_t used = strlen(done);

	used += (size_t)snprintf(done + used, sizeof(done) - used, "%s%s", used ? ", " : "", what);
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(done + used, sizeof(done) - used, " %llu",
					 (unsigned long long)numbers[i]);
}

void pair_send(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n)
{
	(void)p;
	note_step(message == PAIR_KEY ? "key" : "closed", numbers, n);
}

bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience)
{
	(void)p;
	assert_ptr_equal(is_so, pair_has_finished);
	assert_int_equal(patience, TIMEOUT);
	note_step("await", (uint64_t[]){ a, b }, 2);
	return true;
}

static int begin_windows(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 1, 0x10);
	add_object(OBJECT_mr, 1, 0x30);
	add_object(OBJECT_mw, 1, 0x40);
	window = (struct ibv_mw){ .rkey = 0x444 };
	replicas[QP] = (struct replica){ .handle = &window };
	replicas[MR] =
		(struct replica){ .handle = &window, .recorded_base = 1000, .replayed_base = 2000 };
	replicas[MW] = (struct replica){ .handle = &window };
	options = (struct replay_options){ .timeout = TIMEOUT };
	replay =
		(struct replay){ .options = &options, .replicas = replicas, .nreplicas = NOBJECTS };
	mine[0] = (struct pair_life){ .object = QP, .process = 1 };
	of_its[0] = 1;
	pair = (struct pair){ .r = &replay,
			      .mine = { .lives = mine, .nlives = 1 },
			      .its = { .nlives = 1, .uses = uses, .nuses = 2 },
			      .of_its = of_its };
	return 0;
}

static int end_windows(void **state)
{
	(void)state;
	map_fini(&pair.bound);
	map_fini(&pair.binds);
	return 0;
}

FIXTURE(begin_windows, end_windows);

static const char *replay_event(const struct trace_event *event)
{
	done[0] = '\0';
	pair_await_windows(&pair, event);
	pair_send_windows(&pair, event);
	return done;
}

static const char *post_one(struct wr wr)
{
	const struct post post = { .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = &wr };

	return replay_event(
		&(struct trace_event){ .kind = TRACE_POST, .process = 1, .post = &post });
}

static const char *bind_by_request(uint32_t rkey, uint64_t mr)
{
	return post_one((struct wr){
		.opcode = IBV_WR_BIND_MW, .bind_mw = 0x40, .bind_mr = mr, .bind_rkey = rkey });
}

static const char *call_verb(enum trace_event_kind kind, enum verb verb, const char *args,
			     const char *out)
{
	struct args *in = args_new(args, strlen(args)), *after = args_new(out, strlen(out));
	const struct call call = { .verb = verb, .object = MW, .args = in, .out = after };

	replay_event(&(struct trace_event){ .kind = kind, .process = 1, .call = &call });
	args_unref(in);
	args_unref(after);
	return done;
}

static const char *bind_by_call(const char *out)
{
	return call_verb(TRACE_CALL, VERB_bind_mw, "{\"mw_bind\":{\"bind_info\":{\"mr\":48}}}",
			 out);
}

TEST(a_bound_window_is_sent)
{
	assert_string_equal(bind_by_request(65, 0x30), "key 1 65 1092 1000 2000");
}

TEST(a_window_without_a_region_is_not_sent)
{
	assert_string_equal(bind_by_request(65, 0), "");
	assert_string_equal(bind_by_request(66, 0x31), "");
	replicas[MW].handle = NULL;
	assert_string_equal(bind_by_request(67, 0x30), "");
}

TEST(a_window_changes_its_key_after_the_requests_to_it)
{
	bind_by_request(65, 0x30);
	assert_string_equal(bind_by_request(66, 0x30),
			    "await 0 5, closed 1 65, key 1 66 1092 1000 2000");
	assert_string_equal(bind_by_request(0, 0), "await 0 6, closed 1 66");
	assert_string_equal(bind_by_request(67, 0x30), "key 1 67 1092 1000 2000");
}

TEST(an_invalidated_key_is_closed_after_the_requests_to_it)
{
	assert_string_equal(post_one((struct wr){ .opcode = IBV_WR_LOCAL_INV, .imm = 65 }),
			    "await 0 5, closed 1 65");
}

TEST(a_window_that_ends_closes_its_key)
{
	bind_by_request(65, 0x30);
	assert_string_equal(call_verb(TRACE_CALL, VERB_dealloc_mw, "{}", "{}"), "");
	replicas[MW].handle = NULL;
	assert_string_equal(call_verb(TRACE_RETURN, VERB_dealloc_mw, "{}", "{}"),
			    "await 0 5, closed 1 65");
}

TEST(a_window_that_a_call_binds_is_sent)
{
	assert_string_equal(bind_by_call("{\"mw\":{\"rkey\":65}}"), "key 1 65 1092 1000 2000");
	assert_string_equal(bind_by_call("{\"mw\":{\"rkey\":66}}"),
			    "await 0 5, closed 1 65, key 1 66 1092 1000 2000");
}

/* The other half has only the last use of a key. */
TEST(a_key_that_is_bound_again_is_not_waited_for)
{
	map_put(&pair.binds, process_key(1, 65), 2);
	assert_string_equal(post_one((struct wr){ .opcode = IBV_WR_LOCAL_INV, .imm = 65 }),
			    "closed 1 65");
}

TEST(other_requests_change_no_window)
{
	assert_string_equal(post_one((struct wr){ .opcode = IBV_WR_SEND_WITH_INV, .imm = 65 }), "");
}
