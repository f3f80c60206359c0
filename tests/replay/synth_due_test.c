/* replay/synth/synth_due.c: what is due before an event */
#include <stdlib.h>

#include "replay/synth/synth_pass.h"
#include "tests/test.h"

static struct synthesized far;
static struct pass pass;

static int begin_pass(void **state)
{
	(void)state;
	far = (struct synthesized){ 0 };
	pass = (struct pass){ .far = &far };
	return 0;
}

static int end_pass(void **state)
{
	(void)state;
	free(far.early);
	free(far.dues);
	free(far.due_lists);
	map_fini(&far.early_of);
	map_fini(&far.due_at);
	return 0;
}

FIXTURE(begin_pass, end_pass);

/* The only completion of poll @n, of a message of that length. */
static struct synth_early make_message(uint32_t n)
{
	const struct wc wc = { .qp = 1, .byte_len = n };
	const struct poll poll = { .object = 2, .nwc = 1, .wc = &wc };
	const struct trace_event event = {
		.kind = TRACE_POLL, .id = { 1, n }, .time = 10 * n, .poll = &poll
	};

	pass.npolls = n;
	return synth_due_message(&pass, &event, 0);
}

static void put_message(uint32_t n, enum synth_due_kind kind)
{
	const struct synth_early message = make_message(n);

	assert_int_equal(synth_send_before(&pass, (struct event_id){ 3, 9 }, &message, kind), 0);
}

/* What is due before event 3:9: lengths of messages, "failure 7". */
static const char *list_due(void)
{
	static char text[128];
	uint64_t at = 0;
	size_t used = 0;

	text[0] = '\0';
	map_get(&far.due_at, event_key((struct event_id){ 3, 9 }), &at);
	at = at ? far.due_lists[at - 1].first : 0;
	for (; at; at = far.dues[at - 1].next) {
		const struct synth_due *d = &far.dues[at - 1];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%u",
					 used ? " " : "", d->message ? "" : "failure ",
					 d->message ? far.early[d->message - 1].length : d->cause);
	}
	return text;
}

TEST(messages_are_in_the_order_of_their_polls)
{
	(void)state;
	assert_string_equal(list_due(), "");
	put_message(4, DUE_ANNOUNCED);
	put_message(6, DUE_ANNOUNCED);
	put_message(2, DUE_ANNOUNCED);
	put_message(5, DUE_ANNOUNCED);
	put_message(7, DUE_ANNOUNCED);
	assert_string_equal(list_due(), "2 4 5 6 7");
}

TEST(failures_come_after_all_messages)
{
	(void)state;
	put_message(4, DUE_ANNOUNCED);
	assert_int_equal(synth_fail_before(&pass, (struct event_id){ 3, 9 }, 7), 0);
	put_message(5, DUE_ANNOUNCED);
	put_message(3, DUE_ANNOUNCED);
	assert_int_equal(synth_fail_before(&pass, (struct event_id){ 3, 9 }, 8), 0);
	assert_string_equal(list_due(), "3 4 5 failure 7 failure 8");
}

TEST(a_message_is_stored_once_for_several_events)
{
	const struct synth_early message = make_message(4);

	(void)state;
	put_message(4, DUE_ANNOUNCED);
	assert_int_equal(synth_send_before(&pass, (struct event_id){ 3, 8 }, &message, DUE_AWAITED),
			 0);
	assert_int_equal(far.nearly, 1);
	assert_int_equal(synth_due_number(&pass, &message), 1);
	assert_int_equal(far.ndues, 2);
	assert_false(far.dues[0].awaited);
	assert_true(far.dues[1].awaited);
	put_message(5, DUE_LIMIT);
	assert_true(far.dues[2].limit);
	assert_string_equal(list_due(), "4 5");
}

TEST(a_message_is_known_by_its_poll)
{
	const struct synth_early message = make_message(4);

	(void)state;
	assert_int_equal(message.poll.n, 4);
	assert_int_equal(message.index, 0);
	assert_int_equal(message.cq, 2);
	assert_int_equal(message.qp, 1);
	assert_int_equal(message.time, 40);
}
