#include <stdlib.h>

#include "core/store/write/needed.h"
#include "tests/test.h"

static struct needed *needed;
static int64_t now;
static uint64_t n, dropped, unnumbered;
static uint32_t ordinal;

static int begin_needed(void **state)
{
	(void)state;
	now = 0;
	n = dropped = unnumbered = ordinal = 0;
	return needed_new(&needed);
}

static int free_needed(void **state)
{
	(void)state;
	needed_free(needed);
	return 0;
}

static int count_drop(void *arg, struct event_id call)
{
	(void)arg;
	(void)call;
	dropped++;
	return 0;
}

static int note_number(void *arg, const struct needed_object *object)
{
	(void)arg;
	ordinal = object->ordinal;
	return 0;
}

static int count_unnumber(void *arg, uint64_t row)
{
	(void)arg;
	(void)row;
	unnumbered++;
	return 0;
}

static void forget_until(int64_t time)
{
	const struct needed_sink sink = { NULL, count_drop, note_number, count_unnumber };

	assert_int_equal(needed_forget(needed, time, time, &sink), 0);
}

/* A call of process 1; returns its number. */
static uint64_t call_out(enum verb verb, uint64_t handle, enum object_kind kind, uint64_t parent,
			 const char *args, const char *out)
{
	struct needed_call call = { .id = { 1, n + 1 },
				    .end_n = n + 2,
				    .begin = now + 1,
				    .end = now + 2,
				    .process = 1,
				    .verb = verb,
				    .handle = handle,
				    .parent_kind = kind,
				    .parent = parent,
				    .args = args,
				    .out = out };

	n += 2;
	now += 2;
	assert_int_equal(needed_call(needed, &call), 0);
	return call.id.n;
}

static uint64_t call_with(enum verb verb, uint64_t handle, enum object_kind kind, uint64_t parent,
			  const char *args)
{
	return call_out(verb, handle, kind, parent, args, "{}");
}

static uint64_t list_devices(const char *out)
{
	return call_out(VERB_get_device_list, 0, OBJECT_device, 0, "{}", out);
}

static uint64_t make_qp(uint64_t handle)
{
	return call_with(VERB_create_qp, handle, OBJECT_pd, 0x10, "{}");
}

static uint64_t modify_qp(uint64_t handle, const char *state, int mask)
{
	char args[128];

	snprintf(args, sizeof(args),
		 "{\"qp\":%d,\"attr\":{\"qp_state\":\"IBV_QPS_%s\"},"
		 "\"attr_mask\":%d}",
		 (int)handle, state, mask);
	return call_with(VERB_modify_qp, handle, OBJECT_qp, handle, args);
}

static bool is_held(uint64_t call)
{
	return needed_has(needed, (struct event_id){ 1, call });
}

FIXTURE(begin_needed, free_needed);

TEST(what_made_an_object_stays_as_long_as_it)
{
	uint64_t made = call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}"), ended;

	forget_until(now + 1);
	assert_true(is_held(made));
	ended = call_with(VERB_dereg_mr, 0x20, OBJECT_mr, 0x20, "{}");
	/* contained in a trace that begins before the end */
	forget_until(now);
	assert_true(is_held(made) && is_held(ended));
	forget_until(now + 1);
	assert_false(is_held(made) || is_held(ended));
	assert_int_equal(dropped, 2);
	assert_int_equal(unnumbered, 1);
	assert_false(needed_has_thread(needed, 1));
}

/* The second device of the list is used. */
TEST(the_list_with_a_device_stays_as_long_as_its_context)
{
	uint64_t listed = list_devices("{\"ret\":[{\"handle\":4},{\"handle\":5}]}"), opened, again;

	opened = call_with(VERB_open_device, 0x8, OBJECT_device, 5, "{}");
	again = list_devices("{\"ret\":[]}");
	forget_until(now + 1);
	assert_true(is_held(listed) && is_held(opened));
	assert_false(is_held(again));
	call_with(VERB_close_device, 0x8, OBJECT_context, 0x8, "{}");
	list_devices("{\"ret\":[]}");
	forget_until(now + 1);
	assert_false(is_held(listed) || is_held(opened));
}

TEST(ordinals_count_what_is_gone)
{
	for (int i = 0; i < 100; i++) {
		call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
		call_with(VERB_dereg_mr, 0x20, OBJECT_mr, 0x20, "{}");
		forget_until(now + 1);
	}
	assert_int_equal(ordinal, 100);
	assert_int_equal(needed_size(needed).calls, 0);
	assert_int_equal(needed_size(needed).objects, 0);
}

static void cut_with(const struct event_id *open, size_t nopen)
{
	struct needed_cut cut = { ++now, now, open, nopen };

	assert_int_equal(needed_cut(needed, &cut), 0);
}

static void cut_trace(void)
{
	cut_with(NULL, 0);
}

static void make_regions(int count)
{
	for (int i = 0; i < count; i++) {
		call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
		call_with(VERB_dereg_mr, 0x20, OBJECT_mr, 0x20, "{}");
	}
}

TEST(objects_between_two_cuts_leave_their_number)
{
	int64_t first;

	make_regions(100);
	cut_trace();
	first = now;
	make_regions(50);
	assert_int_equal(needed_size(needed).calls, 100);
	cut_trace();
	assert_int_equal(needed_size(needed).calls, 0);
	assert_false(needed_has_thread(needed, 1));
	forget_until(first);
	assert_int_equal(ordinal, 100);
	forget_until(now);
	assert_int_equal(ordinal, 150);
	assert_int_equal(dropped + unnumbered, 0);
}

TEST(objects_that_were_there_at_a_cut_stay)
{
	uint64_t made, ended;

	make_regions(10);
	made = call_with(VERB_reg_mr, 0x30, OBJECT_pd, 0x10, "{}");
	cut_trace();
	ended = call_with(VERB_dereg_mr, 0x30, OBJECT_mr, 0x30, "{}");
	make_regions(10);
	cut_trace();
	assert_true(is_held(made) && is_held(ended));
	assert_int_equal(needed_size(needed).calls, 2);
	forget_until(now);
	assert_false(is_held(made) || is_held(ended));
	assert_int_equal(dropped, 2);
	assert_int_equal(ordinal, 21);
}

/* The trace that begins at the cut has the call, since it had not returned. */
TEST(a_call_over_a_cut_stays)
{
	struct needed_call call = { .id = { 1, 1 },
				    .end_n = 2,
				    .begin = 1,
				    .end = 4,
				    .process = 1,
				    .verb = VERB_reg_mr,
				    .handle = 0x20,
				    .args = "{}" };

	cut_with(&call.id, 1); /* at 1 */
	call.begin = 0;
	n = 2;
	now = 4;
	assert_int_equal(needed_call(needed, &call), 0);
	call_with(VERB_dereg_mr, 0x20, OBJECT_mr, 0x20, "{}");
	cut_trace();
	assert_true(is_held(1));
}

/* Until that call returns it is not known when the object was created. */
TEST(an_object_is_not_counted_while_a_call_around_its_creation_lasts)
{
	struct event_id outer = { 1, 1 };
	struct needed_call around = { .id = outer,
				      .begin = 1,
				      .process = 1,
				      .verb = VERB_open_device,
				      .handle = 0x8,
				      .args = "{}" };

	n = 2;
	call_with(VERB_open_device, 0x8, OBJECT_device, 0x4, "{}");
	cut_with(&outer, 1);
	around.end_n = ++n;
	around.end = ++now;
	assert_int_equal(needed_call(needed, &around), 0);
	assert_int_equal(needed_size(needed).objects, 1);
	forget_until(now);
	assert_int_equal(ordinal, 0);
	forget_until(now + 1);
	assert_int_equal(ordinal, 1);
	assert_true(is_held(outer.n));
}

TEST(a_count_behind_a_call_that_lasts_is_told_at_last)
{
	struct event_id outer = { 1, 1 };
	int64_t first;

	n = 2;
	make_regions(10);
	cut_with(&outer, 1);
	first = now;
	make_regions(5);
	cut_with(&outer, 1);
	forget_until(first);
	assert_int_equal(ordinal, 10);
	forget_until(now);
	assert_int_equal(ordinal, 15);
	assert_int_equal(needed_size(needed).calls, 0);
}

TEST(calls_replaced_between_two_cuts_are_not_needed)
{
	uint64_t last = 0;

	call_with(VERB_open_device, 0x8, OBJECT_device, 0x4, "{}");
	for (int i = 0; i < 100; i++)
		last = call_with(VERB_query_port, 0x8, OBJECT_context, 0x8, "{\"port_num\":1}");
	cut_trace();
	assert_int_equal(needed_size(needed).calls, 2);
	for (int i = 0; i < 100; i++)
		call_with(VERB_query_port, 0x8, OBJECT_context, 0x8, "{\"port_num\":1}");
	cut_trace();
	assert_true(is_held(last));
	assert_int_equal(needed_size(needed).calls, 3);
	forget_until(now);
	assert_false(is_held(last));
	assert_int_equal(dropped, 1);
}

TEST(queries_of_a_port_stay_as_the_last_answer)
{
	uint64_t last = 0, opened = call_with(VERB_open_device, 0x8, OBJECT_device, 0x4, "{}");

	for (int i = 0; i < 1000; i++)
		last = call_with(VERB_query_port, 0x8, OBJECT_context, 0x8, "{\"port_num\":1}");
	forget_until(now + 1);
	assert_true(is_held(last) && is_held(opened));
	assert_int_equal(needed_size(needed).calls, 2);
	assert_int_equal(dropped, 999);
}

TEST(events_and_queries_of_queues_do_not_stay)
{
	uint64_t got = call_with(VERB_get_cq_event, 0x30, OBJECT_comp_channel, 0x30, "{}");

	make_qp(0x40);
	assert_false(is_held(got) ||
		     is_held(call_with(VERB_query_qp, 0x40, OBJECT_qp, 0x40, "{}")));
}

TEST(a_queue_pair_keeps_the_way_to_its_state)
{
	uint64_t made = make_qp(0x40), init = modify_qp(0x40, "INIT", 57),
		 rtr = modify_qp(0x40, "RTR", 1), rts = modify_qp(0x40, "RTS", 1), sqd = 0;

	for (int i = 0; i < 100; i++) {
		sqd = modify_qp(0x40, "SQD", 1);
		modify_qp(0x40, "RTS", 1);
	}
	forget_until(now + 1);
	assert_true(is_held(made) && is_held(init) && is_held(rtr) && is_held(rts) && is_held(sqd));
	assert_int_equal(needed_size(needed).calls, 6);
}

TEST(what_was_before_a_reset_is_not_needed)
{
	uint64_t made = make_qp(0x40), reset = 0;

	for (int i = 0; i < 100; i++) {
		modify_qp(0x40, "INIT", 57);
		modify_qp(0x40, "RTR", 1);
		reset = modify_qp(0x40, "RESET", 1);
	}
	forget_until(now + 1);
	assert_true(is_held(made) && is_held(reset));
	assert_int_equal(needed_size(needed).calls, 2);
}

TEST(what_a_context_has_ends_with_it)
{
	call_with(VERB_open_device, 0x8, OBJECT_device, 0x4, "{}");
	call_with(VERB_alloc_pd, 0x10, OBJECT_context, 0x8, "{}");
	call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
	call_with(VERB_close_device, 0x8, OBJECT_context, 0x8, "{}");
	forget_until(now + 1);
	assert_int_equal(needed_size(needed).calls, 0);
}

TEST(what_a_process_has_ends_with_it)
{
	call_with(VERB_open_device, 0x8, OBJECT_device, 0x4, "{}");
	call_with(VERB_fork_init, 0, OBJECT_context, 0, "{}");
	forget_until(now + 1);
	assert_int_equal(needed_size(needed).calls, 2);
	needed_note_exit(needed, 1, now + 1);
	forget_until(now + 2);
	assert_int_equal(needed_size(needed).calls, 0);
}

TEST(a_destroy_is_of_the_object_that_was_there)
{
	struct needed_call early = { .id = { 2, 1 },
				     .end_n = 2,
				     .process = 1,
				     .verb = VERB_dereg_mr,
				     .handle = 0x20,
				     .args = "{}" };
	uint64_t made;

	call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
	early.begin = now + 1;
	early.end = now += 2;
	made = call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
	/* another thread's events are read later */
	assert_int_equal(needed_call(needed, &early), 0);
	forget_until(now + 1);
	assert_true(is_held(made));
}

/* The release of a list that is needed is needed, too; that of another is not. */
TEST(a_list_is_freed_as_long_as_it_is_needed)
{
	struct needed_call call = { .id = { 1, 1 },
				    .end_n = 2,
				    .begin = 1,
				    .end = 2,
				    .process = 1,
				    .verb = VERB_get_device_list,
				    .ret = 0x77,
				    .args = "{}",
				    .out = "{\"ret\":[{\"handle\":4},{\"handle\":5}]}" };
	uint64_t freed, other, again;

	n = now = 2;
	assert_int_equal(needed_call(needed, &call), 0);
	call_with(VERB_open_device, 0x8, OBJECT_device, 5, "{}");
	other = call_with(VERB_free_device_list, 0, OBJECT_device, 0, "{\"list\":120}");
	freed = call_with(VERB_free_device_list, 0, OBJECT_device, 0, "{\"list\":119}");
	again = call_with(VERB_free_device_list, 0, OBJECT_device, 0, "{\"list\":119}");
	forget_until(now + 1);
	assert_true(is_held(1) && is_held(freed));
	assert_false(is_held(other) || is_held(again));
	call_with(VERB_close_device, 0x8, OBJECT_context, 0x8, "{}");
	list_devices("{\"ret\":[]}");
	forget_until(now + 1);
	assert_false(is_held(1) || is_held(freed));
}

TEST(what_is_undone_is_not_needed)
{
	uint64_t first, second, ranges[2];

	make_qp(0x40);
	first = call_with(VERB_attach_mcast, 0x40, OBJECT_qp, 0x40, "{\"lid\":1}");
	second = call_with(VERB_attach_mcast, 0x40, OBJECT_qp, 0x40, "{\"lid\":2}");
	ranges[0] = call_with(VERB_dontfork_range, 0, OBJECT_context, 0, "{\"base\":1}");
	ranges[1] = call_with(VERB_dontfork_range, 0, OBJECT_context, 0, "{\"base\":2}");
	forget_until(now + 1);
	assert_true(is_held(first) && is_held(second) && is_held(ranges[0]) && is_held(ranges[1]));
	call_with(VERB_detach_mcast, 0x40, OBJECT_qp, 0x40, "{\"lid\":3}");
	call_with(VERB_detach_mcast, 0x40, OBJECT_qp, 0x40, "{\"lid\":1}");
	call_with(VERB_dofork_range, 0, OBJECT_context, 0, "{\"base\":2}");
	forget_until(now + 1);
	assert_false(is_held(first) || is_held(ranges[1]));
	assert_true(is_held(second) && is_held(ranges[0]));
}

/* A change takes the place of one with the same flags. */
TEST(changes_of_a_region_stay_by_what_they_change)
{
	uint64_t a, b, c;

	call_with(VERB_reg_mr, 0x20, OBJECT_pd, 0x10, "{}");
	a = call_with(VERB_rereg_mr, 0x20, OBJECT_mr, 0x20, "{\"flags\":1,\"length\":1}");
	b = call_with(VERB_rereg_mr, 0x20, OBJECT_mr, 0x20, "{\"flags\":4,\"length\":1}");
	c = call_with(VERB_rereg_mr, 0x20, OBJECT_mr, 0x20, "{\"flags\":1,\"length\":2}");
	forget_until(now + 1);
	assert_false(is_held(a));
	assert_true(is_held(b) && is_held(c));
}

static uint64_t take_event(const char *type, int id)
{
	char out[128];

	snprintf(out, sizeof(out), "{\"event\":{\"event\":\"RDMA_CM_EVENT_%s\",\"id\":%d}}", type,
		 id);
	return call_out(VERB_rdma_get_cm_event, 0x60, OBJECT_cm_channel, 0x60, "{}", out);
}

static uint64_t ack_event(const char *type, int id)
{
	char args[128];

	snprintf(args, sizeof(args), "{\"event\":{\"event\":\"RDMA_CM_EVENT_%s\",\"id\":%d}}", type,
		 id);
	return call_with(VERB_rdma_ack_cm_event, 0, OBJECT_cm_channel, 0, args);
}

TEST(events_of_connections_stay_with_their_identifier)
{
	uint64_t asked, acked, up, down, other;

	call_with(VERB_rdma_create_event_channel, 0x60, OBJECT_context, 0, "{}");
	asked = take_event("CONNECT_REQUEST", 0x70);
	acked = ack_event("CONNECT_REQUEST", 0x70);
	up = take_event("ESTABLISHED", 0x70);
	other = take_event("ESTABLISHED", 0x71);
	down = take_event("DISCONNECTED", 0x70);
	forget_until(now + 1);
	assert_true(is_held(asked) && is_held(acked) && is_held(up) && is_held(down));
	assert_false(is_held(other));
	call_with(VERB_rdma_destroy_id, 0x70, OBJECT_cm_id, 0x70, "{}");
	forget_until(now + 1);
	assert_false(is_held(asked) || is_held(acked) || is_held(up) || is_held(down));
}
