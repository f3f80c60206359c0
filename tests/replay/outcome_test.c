/* Causes, their consequences, and the texts of the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/report/outcome.h"
#include "replay/report/tolerate.h"
#include "tests/test.h"

enum { QP = 1, PEER, CQ, PEER_CQ, OTHER };

static int make_outcome(void **state)
{
	struct outcome *r;

	if (outcome_new(&r))
		return -1;
	outcome_relate_objects(r, QP, PEER);
	outcome_relate_objects(r, PEER, QP);
	outcome_relate_objects(r, QP, CQ);
	outcome_relate_objects(r, PEER, PEER_CQ);
	*state = r;
	return 0;
}

static int free_outcome(void **state)
{
	outcome_free(*state);
	return 0;
}

FIXTURE(make_outcome, free_outcome);

static void assert_says(struct outcome *outcome, const char *what)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	outcome_text(outcome, to);
	fclose(to);
	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

static void differ_at(struct outcome *r, uint32_t object, uint32_t n, bool breaks)
{
	outcome_add_divergence(
		r, &(struct divergence){ .event = { 1, n },
					 .verb = VERB_poll_cq,
					 .field = breaks ? "wc[0].status" : "wc[0].wr_id",
					 .recorded = "1",
					 .replayed = "2",
					 .object = object,
					 .class = breaks ? DIVERGENCE_FAILED_REPLAYED
							 : DIVERGENCE_OTHER,
					 .breaks = breaks });
}

TEST(all_that_follows_a_broken_queue_pair_is_one_divergence)
{
	struct outcome *r = *state;

	differ_at(r, QP, 60, true);
	for (uint32_t i = 0; i < 161150; i++)
		differ_at(r, QP, 61 + i, true);
	assert_int_equal(outcome_divergences(r), 1);
	assert_int_equal(outcome_consequences(r), 161150);
	assert_says(r,
		    "1 divergence (1 recorded success fails in the replay)\n  1:60 ibv_poll_cq:");
	assert_says(r, "; 161,150 consequences on object 1\n");
}

/* an object, and whether the failure of QP explains its differences */
static const struct {
	const char *name;
	uint32_t object;
	uint64_t causes;
} explained[] = {
	{ "its_peer_follows", PEER, 1 },
	{ "its_completion_queue_follows", CQ, 1 },
	{ "the_queue_of_its_peer_follows", PEER_CQ, 1 },
	{ "another_does_not_follow", OTHER, 2 },
	{ "what_is_unknown_does_not_follow", 0, 2 },
};

static void what_a_broken_queue_pair_explains(void **state)
{
	const typeof(explained[0]) *row = *state;
	struct outcome *r;

	assert_int_equal(make_outcome((void **)&r), 0);
	differ_at(r, QP, 60, true);
	differ_at(r, row->object, 61, true);
	assert_int_equal(outcome_divergences(r), row->causes);
	outcome_free(r);
}
TEST_ROWS(explained, what_a_broken_queue_pair_explains);

static void inject_at(struct outcome *r, uint32_t object, uint32_t n)
{
	outcome_note_injected(r, &(struct divergence){ .event = { 1, n },
						       .verb = VERB_poll_cq,
						       .field = "wc[0].status",
						       .recorded = "IBV_WC_LOC_PROT_ERR (4)",
						       .replayed = "",
						       .object = object,
						       .breaks = true });
}

TEST(an_injected_error_is_none_if_what_follows_is_as_recorded)
{
	struct outcome *r = *state;

	inject_at(r, QP, 50);
	assert_false(
		outcome_is_explained(r, QP)); /* the replay waits for an unexplained completion */
	differ_at(r, OTHER, 60, true);
	assert_int_equal(outcome_divergences(r), 1);
	assert_int_equal(outcome_nth_divergence(r, 0)->event.n, 60);
	outcome_note_skipped(r, (struct event_id){ 1, 61 }, VERB_post_send, QP, "it is left out");
	assert_int_equal(outcome_consequences(r), 0);
	assert_false(outcome_is_whole(r));
}

TEST(an_injected_error_is_the_cause_of_what_was_not_recorded)
{
	struct outcome *r = *state;

	inject_at(r, QP, 50);
	inject_at(r, PEER, 51); /* follows from that */
	differ_at(r, PEER_CQ, 60, true);
	differ_at(r, QP, 61, true);
	assert_true(outcome_is_explained(r, PEER));
	assert_int_equal(outcome_divergences(r), 1);
	assert_int_equal(outcome_consequences(r), 2);
	assert_says(r, "  1:50 ibv_poll_cq: wc[0].status: recorded IBV_WC_LOC_PROT_ERR (4), "
		       "replayed the same, injected; then 1:60 ibv_poll_cq: wc[0].status is "
		       "recorded 1, replayed 2; 2 consequences on object 4 and object 1\n");
}

TEST(an_injected_error_ends_with_a_reset)
{
	struct outcome *r = *state;

	inject_at(r, QP, 50);
	outcome_note_repair(r, QP);
	differ_at(r, QP, 60, true);
	assert_int_equal(outcome_nth_divergence(r, 0)->event.n, 60);
	inject_at(r, QP, 70); /* the queue pair was broken before */
	differ_at(r, QP, 80, true);
	assert_int_equal(outcome_divergences(r), 1);
}

TEST(a_queue_explains_nothing_of_its_queue_pairs)
{
	differ_at(*state, CQ, 60, true);
	differ_at(*state, QP, 61, true);
	assert_int_equal(outcome_divergences(*state), 2);
}

TEST(values_that_differ_one_after_another_are_one_until_one_agrees)
{
	differ_at(*state, QP, 60, false);
	differ_at(*state, QP, 61, false);
	assert_int_equal(outcome_divergences(*state), 1);
	outcome_note_agreement(*state, QP);
	differ_at(*state, QP, 63, false);
	assert_int_equal(outcome_divergences(*state), 2);
}

TEST(calls_of_one_object_are_apart)
{
	struct outcome *r = *state;

	for (uint32_t i = 0; i < 3; i++)
		outcome_add_divergence(r, &(struct divergence){ .event = { 1, i },
								.verb = VERB_query_gid,
								.field = "ret",
								.recorded = "-1",
								.replayed = "0",
								.object = OTHER });
	assert_int_equal(outcome_divergences(r), 3);
}

TEST(an_agreeing_value_mends_no_broken_queue_pair)
{
	differ_at(*state, QP, 60, true);
	outcome_note_agreement(*state, QP);
	differ_at(*state, QP, 61, true);
	assert_int_equal(outcome_divergences(*state), 1);
	outcome_note_repair(*state, QP);
	differ_at(*state, QP, 62, true);
	assert_int_equal(outcome_divergences(*state), 2);
}

/* At PEER, noticed before the failure at QP. */
static void show_symptom(struct outcome *r, bool remote)
{
	outcome_add_divergence(r, &(struct divergence){ .event = { 2, 9 },
							.verb = VERB_poll_cq,
							.field = "wc[0].status",
							.recorded = "success",
							.replayed = remote ? "remote" : "flush",
							.object = PEER,
							.class = DIVERGENCE_FAILED_REPLAYED,
							.breaks = true,
							.symptom = true,
							.remote = remote });
}

TEST(a_flush_gives_way_to_its_reason)
{
	struct outcome *r = *state;

	show_symptom(r, false);
	differ_at(r, QP, 60, true);
	assert_int_equal(outcome_divergences(r), 1);
	assert_says(r, "\n  1:60 ibv_poll_cq: wc[0].status: recorded 1, replayed 2; 1 consequence"
		       " on object 2\n");
}

TEST(what_an_end_says_of_the_other_gives_way_to_that)
{
	struct outcome *r = *state;

	show_symptom(r, true);
	differ_at(r, PEER, 50, true);
	assert_says(r, "\n  2:9 ibv_poll_cq: wc[0].status: recorded success, replayed remote;");
	differ_at(r, QP, 60, true);
	assert_int_equal(outcome_divergences(r), 1);
	assert_says(r, "\n  1:60 ibv_poll_cq: wc[0].status: recorded 1, replayed 2; 2 consequences"
		       " on object 2\n");
}

/* A line of --tolerate that has event 1:60. */
static struct tolerate *judge_event(struct outcome *r)
{
	char path[] = "/tmp/outcome.XXXXXX", complaint[TOLERATE_COMPLAINT];
	struct tolerate *tolerate = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "poll_cq * 1:60 * judged\n") > 0);
	assert_int_equal(tolerate_open(path, complaint, &tolerate), 0);
	close(fd);
	unlink(path);
	outcome_set_tolerate(r, tolerate);
	return tolerate;
}

TEST(a_symptom_of_what_is_tolerated_is_tolerated)
{
	struct outcome *r = *state;
	struct tolerate *tolerate = judge_event(r);

	for (int remote = 0; remote < 2; remote++) {
		show_symptom(r, remote);
		differ_at(r, PEER, 10, false);
		differ_at(r, QP, 60, true);
		assert_int_equal(outcome_divergences(r), 0);
		assert_int_equal(outcome_consequences(r), 0);
		differ_at(r, PEER, 61, true); /* the error and its consequences */
		assert_int_equal(outcome_divergences(r), 0);
		assert_int_equal(tolerate_line(tolerate, 0)->consequences, 3 * (1 + remote));
		assert_says(r, "no divergence\n");
		for (uint32_t object = QP; object < OTHER; object++)
			outcome_note_repair(r, object);
	}
	differ_at(r, OTHER, 62, true);
	assert_int_equal(outcome_divergences(r), 1);
	assert_says(r, "1 divergence (1 recorded success fails in the replay)\n  1:62 ibv_poll_cq");
	tolerate_close(tolerate);
}

TEST(what_is_tolerated_explains_until_it_is_mended)
{
	struct outcome *r = *state;
	struct tolerate *tolerate = judge_event(r);

	differ_at(r, QP, 60, true);
	assert_true(outcome_is_explained(r, PEER));
	outcome_note_repair(r, QP);
	assert_false(outcome_is_explained(r, PEER));
	differ_at(r, QP, 62, true);
	assert_int_equal(outcome_divergences(r), 1);
	tolerate_close(tolerate);
}

TEST(fail_fast_waits_for_the_reason_of_a_symptom_that_may_be_tolerated)
{
	struct outcome *r = *state;
	struct tolerate *tolerate = judge_event(r);

	outcome_set_fail_fast(r);
	show_symptom(r, false);
	assert_false(outcome_stopped(r));
	differ_at(r, QP, 60, true);
	assert_false(outcome_stopped(r));
	differ_at(r, OTHER, 62, true);
	assert_true(outcome_stopped(r));
	tolerate_close(tolerate);
}

TEST(what_is_left_out_because_of_a_divergence_is_its_consequence)
{
	struct outcome *r = *state;

	differ_at(r, OTHER, 60, true);
	outcome_inherit_cause(r, QP, OTHER);
	outcome_note_skipped(r, (struct event_id){ 1, 61 }, VERB_post_send, QP, "not made");
	assert_int_equal(outcome_consequences(r), 1);
	assert_says(r, "; 1 consequence on object 1\n");
}

TEST(classes_are_counted_apart)
{
	struct outcome *r = *state;

	differ_at(r, QP, 60, true);
	differ_at(r, OTHER, 61, false);
	outcome_add_divergence(r, &(struct divergence){ .event = { 1, 62 },
							.verb = VERB_dereg_mr,
							.field = "ret",
							.recorded = "EINVAL (22)",
							.replayed = "0",
							.class = DIVERGENCE_FAILED_RECORDED });
	assert_says(r, "3 divergences (1 recorded success fails in the replay, 1 recorded failure "
		       "succeeds in the replay, 1 other)\n");
}

TEST(what_differs_where_no_verb_is_called_is_reported)
{
	struct outcome *r = *state;
	FILE *json = tmpfile();

	outcome_add_divergence(r, &(struct divergence){ .event = { 1, 63 },
							.verb = VERB_COUNT,
							.field = "process",
							.recorded = "process 1 continues",
							.replayed = "ended by signal 11",
							.class = DIVERGENCE_FAILED_REPLAYED,
							.breaks = true });
	assert_says(r, "1:63 no verb: process: recorded process 1 continues, replayed ended by"
		       " signal 11\n");
	outcome_json(r, json);
	fclose(json);
}

/* Counts in the summary: singular and plural. */
static const struct summary {
	const char *name;
	enum outcome_count count;
	uint64_t n;
	const char *says; /* NULL: nothing of it */
} summaries[] = {
	{ "no_payload", OUTCOME_PAYLOADS, 0, NULL },
	{ "one_payload", OUTCOME_PAYLOADS, 1, "compared received contents 1 time\n" },
	{ "two_payloads", OUTCOME_PAYLOADS, 2, "compared received contents 2 times\n" },
	{ "no_fault", OUTCOME_FAULTS, 0, NULL },
	{ "one_fault", OUTCOME_FAULTS, 1,
	  "1 recorded error or event that the traffic does not cause was injected" },
	{ "two_faults", OUTCOME_FAULTS, 2,
	  "2 recorded errors or events that the traffic does not cause were injected" },
	{ "none_unpolled", OUTCOME_UNPOLLED, 0, NULL },
	{ "one_unpolled", OUTCOME_UNPOLLED, 1,
	  "1 completion arrived that the recorded program had not polled when it ended\n" },
	{ "two_unpolled", OUTCOME_UNPOLLED, 2,
	  "2 completions arrived that the recorded program had not polled when it ended\n" },
};

static void count_is_reported(void **state)
{
	static const char *const words[OUTCOME_COUNTS] = { [OUTCOME_PAYLOADS] = "compared",
							   [OUTCOME_FAULTS] = "caused",
							   [OUTCOME_UNPOLLED] = "asked for" };
	const struct summary *row = *state;
	struct outcome *r;
	char *text = NULL;
	size_t size;
	FILE *to;

	assert_int_equal(outcome_new(&r), 0);
	outcome_count(r, row->count, row->n);
	to = open_memstream(&text, &size);
	outcome_text(r, to);
	fclose(to);
	if (!strstr(text, row->says ? row->says : words[row->count]) == (row->says != NULL))
		fail_msg("\"%s\": %s", row->says ? row->says : words[row->count], text);
	free(text);
	outcome_free(r);
}
TEST_ROWS(summaries, count_is_reported);
