/*
 * The report of a replay as text
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/style.h"
#include "replay/report/outcome.h"
#include "replay/report/tolerate.h"
#include "tests/test.h"

static struct outcome *outcome;

static int make_outcome(void **state)
{
	(void)state;
	return outcome_new(&outcome);
}

static int free_outcome(void **state)
{
	(void)state;
	outcome_free(outcome);
	style_enable(false);
	return 0;
}

FIXTURE(make_outcome, free_outcome);

static void expect_print(void (*print)(const struct outcome *, FILE *), const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	print(outcome, to);
	fclose(to);
	assert_string_equal(text, wanted);
	free(text);
}

static void expect_verdict(const char *wanted)
{
	expect_print(outcome_verdict, wanted);
}

static void differ_at(uint32_t n, enum divergence_class class, uint32_t about, uint32_t sender)
{
	outcome_add_divergence(outcome, &(struct divergence){ .event = { 1, n },
							      .verb = VERB_poll_cq,
							      .field = "wc[0].status",
							      .recorded = "A",
							      .replayed = "B",
							      .about = { about ? 1 : 0, about },
							      .sender = { sender ? 2 : 0, sender },
							      .class = class });
}

static void skip_times(unsigned int n, enum verb verb, const char *why)
{
	for (unsigned int i = 0; i < n; i++)
		outcome_note_skipped(outcome, (struct event_id){ 3, 10 + i }, verb, 0, why);
}

#define NOTHING                                                                 \
	"replayed - on -: 0 calls, 0 posts of 0 work requests, 0 polls with 0 " \
	"completions, 0 notification requests, 0 events\n"                      \
	"recorded in 0.000 s, compiled in 0.000 s, replayed in 0.000 s\n"

TEST(a_replay_of_nothing)
{
	expect_print(outcome_text, "no divergence\n" NOTHING);
}

TEST(counts_are_those_of_the_replay)
{
	outcome_set_trace(outcome, "a\033.db", NULL);
	outcome_set_device(outcome, "soft0");
	outcome_set_times(outcome, 1.5, 0.25, 2);
	outcome_count(outcome, OUTCOME_CALLS, 1);
	outcome_count_post(outcome, 3);
	outcome_count_post(outcome, 4);
	outcome_count(outcome, OUTCOME_POLLS, 4);
	outcome_count(outcome, OUTCOME_COMPLETIONS, 5);
	outcome_count(outcome, OUTCOME_NOTIFIES, 6);
	outcome_count(outcome, OUTCOME_EVENTS, 8);
	outcome_count(outcome, OUTCOME_PAYLOADS, 1);
	outcome_count(outcome, OUTCOME_FAULTS, 1);
	outcome_count(outcome, OUTCOME_UNPOLLED, 1);
	expect_print(
		outcome_text,
		"no divergence\n"
		"replayed a\\x1b.db on soft0: 1 calls, 2 posts of 7 work requests, 4 polls with 5 "
		"completions, 6 notification requests, 8 events\n"
		"sent the recorded contents, and compared received contents 1 time\n"
		"recorded in 1.500 s, compiled in 0.250 s, replayed in 2.000 s\n"
		"1 recorded error or event that the traffic does not cause was injected (--faults "
		"recorded)\n"
		"1 completion arrived that the recorded program had not polled when it ended\n");
}

TEST(several_have_plurals)
{
	outcome_count(outcome, OUTCOME_PAYLOADS, 2);
	outcome_count(outcome, OUTCOME_FAULTS, 2);
	outcome_count(outcome, OUTCOME_UNPOLLED, 2);
	expect_print(
		outcome_text,
		"no divergence\n"
		"replayed - on -: 0 calls, 0 posts of 0 work requests, 0 polls with 0 "
		"completions, 0 notification requests, 0 events\n"
		"sent the recorded contents, and compared received contents 2 times\n"
		"recorded in 0.000 s, compiled in 0.000 s, replayed in 0.000 s\n"
		"2 recorded errors or events that the traffic does not cause were injected "
		"(--faults recorded)\n"
		"2 completions arrived that the recorded program had not polled when it ended\n");
}

/* Divergences */

TEST(divergences_have_their_requests)
{
	differ_at(60, DIVERGENCE_OTHER, 0, 0);
	differ_at(61, DIVERGENCE_OTHER, 50, 0);
	differ_at(62, DIVERGENCE_OTHER, 51, 40);
	expect_print(
		outcome_text,
		"3 divergences\n"
		"  1:60 ibv_poll_cq: wc[0].status: recorded A, replayed B\n"
		"  1:61 ibv_poll_cq: wc[0].status: recorded A, replayed B (request of 1:50)\n"
		"  1:62 ibv_poll_cq: wc[0].status: recorded A, replayed B (request of 1:51, sent "
		"by 2:40)\n" NOTHING);
}

TEST(classes_are_counted_unless_all_are_others)
{
	differ_at(1, DIVERGENCE_FAILED_REPLAYED, 0, 0);
	expect_verdict("1 divergence (1 recorded success fails in the replay)");
	differ_at(2, DIVERGENCE_FAILED_REPLAYED, 0, 0);
	expect_verdict("2 divergences (2 recorded successes fail in the replay)");
	differ_at(3, DIVERGENCE_FAILED_RECORDED, 0, 0);
	differ_at(4, DIVERGENCE_OTHER, 0, 0);
	expect_verdict("4 divergences (2 recorded successes fail in the replay, 1 recorded failure "
		       "succeeds in the replay, 1 other)");
	differ_at(5, DIVERGENCE_FAILED_RECORDED, 0, 0);
	differ_at(6, DIVERGENCE_OTHER, 0, 0);
	expect_verdict(
		"6 divergences (2 recorded successes fail in the replay, 2 recorded failures "
		"succeed in the replay, 2 other)");
}

static size_t count_lines(const char *text, const char *line)
{
	size_t n = 0;

	for (; (text = strstr(text, line)); text++)
		n++;
	return n;
}

TEST(twenty_divergences_and_reasons_are_printed)
{
	char *text = NULL, why[32];
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (uint32_t i = 0; i < 1022; i++)
		differ_at(100 + i, DIVERGENCE_OTHER, 0, 0);
	for (int i = 0; i < 23; i++) {
		snprintf(why, sizeof(why), "reason %d", i);
		skip_times(1, VERB_post_send, why);
	}
	outcome_text(outcome, to);
	fclose(to);
	assert_int_equal(count_lines(text, " ibv_poll_cq: wc[0]"), OUTCOME_PRINTED);
	assert_int_equal(count_lines(text, "\n  and 1,002 more\n"), 1);
	assert_int_equal(count_lines(text, "  1 x ibv_post_send, first at 3:10: reason "),
			 OUTCOME_PRINTED);
	assert_int_equal(count_lines(text, "\n  and 3 more reasons\n"), 1);
	free(text);
}

static void differ_broken(uint32_t object, uint32_t n)
{
	outcome_add_divergence(outcome, &(struct divergence){ .event = { 1, n },
							      .verb = VERB_poll_cq,
							      .field = "f",
							      .recorded = "A",
							      .replayed = "B",
							      .object = object,
							      .breaks = true });
}

TEST(consequences_are_at_their_objects)
{
	static const char *const lines[] = {
		"; 1 consequence on object 2", "; 2 consequences on object 2 and object 3",
		"; 3 consequences on object 2, object 3 and object 4",
		"; 4 consequences on object 2, object 3, object 4 and object 5",
		"; 5 consequences on object 2, object 3, object 4, object 5 and others"
	};
	char wanted[512];

	for (uint32_t i = 2; i < 8; i++)
		outcome_relate_objects(outcome, 1, i);
	differ_broken(1, 60);
	for (uint32_t i = 0; i < 5; i++) {
		differ_broken(2 + i, 61 + i);
		snprintf(wanted, sizeof(wanted),
			 "1 divergence\n  1:60 ibv_poll_cq: f: recorded A, replayed B%s\n" NOTHING,
			 lines[i]);
		expect_print(outcome_text, wanted);
	}
}

/* What was left out */

TEST(what_was_left_out_is_in_the_verdict)
{
	outcome_count(outcome, OUTCOME_CALLS, 1);
	skip_times(1, VERB_poll_cq, "it did not come");
	expect_verdict("no divergence; 1 of 1 completion left out: it did not come");
	skip_times(2, VERB_post_send, "its queue is gone");
	expect_verdict(
		"no divergence; 2 of 2 posts, 1 of 1 completion left out: its queue is gone, "
		"and other reasons below");
	skip_times(3, VERB_reg_mr, "its queue is gone");
	expect_verdict("no divergence; 2 of 2 posts, 1 of 1 completion, 3 of 4 calls left out: its "
		       "queue is gone, and other reasons below");
	expect_print(outcome_text,
		     "no divergence; 2 of 2 posts, 1 of 1 completion, 3 of 4 calls left out: its "
		     "queue is gone, and other reasons below\n"
		     "replayed - on -: 1 calls, 0 posts of 0 work requests, 0 polls with 0 "
		     "completions, 0 notification requests, 0 events\n"
		     "recorded in 0.000 s, compiled in 0.000 s, replayed in 0.000 s\n"
		     "not replayed:\n"
		     "  1 x ibv_poll_cq, first at 3:10: it did not come\n"
		     "  2 x ibv_post_send, first at 3:10: its queue is gone\n"
		     "  3 x ibv_reg_mr, first at 3:10: its queue is gone\n");
	assert_false(outcome_print_skip(outcome, 3, stdout));
}

TEST(gaps_are_in_the_verdict_and_below)
{
	outcome_note_gap(outcome, "gap %d", 1);
	expect_verdict("no divergence; gap 1");
	outcome_note_gap(outcome, "gap %d", 2);
	expect_verdict("no divergence; gap 1; gap 2");
	outcome_note_gap(outcome, "gap %d", 3);
	outcome_note_gap(outcome, "gap %d", 4);
	outcome_note(outcome, "a note");
	expect_print(outcome_text,
		     "no divergence; gap 1; gap 2; and 2 more missing, see below\n" NOTHING
		     "lacking: gap 3\n"
		     "lacking: gap 4\n"
		     "note: a note\n");
}

TEST(tolerated_differences_are_counted_by_reason)
{
	outcome_note_tolerated(outcome, "reason a");
	outcome_note_tolerated(outcome, "reason b");
	outcome_note_tolerated(outcome, "reason a");
	expect_print(outcome_text, "no divergence\n" NOTHING "ignored differences (expected):\n"
				   "  2 x reason a\n"
				   "  1 x reason b\n");
}

static struct tolerate *tolerate_lines(const char *lines)
{
	static char path[64];
	char complaint[TOLERATE_COMPLAINT];
	struct tolerate *tolerate = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/verbatim-outcome-text-%d", (int)getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(lines, file);
	fclose(file);
	assert_int_equal(tolerate_open(path, complaint, &tolerate), 0);
	unlink(path);
	outcome_set_tolerate(outcome, tolerate);
	return tolerate;
}

TEST(lines_of_tolerate_are_used_or_not)
{
	struct tolerate *tolerate = tolerate_lines("poll_cq * 1:60 * reason a\n"
						   "poll_cq * 9:9 * reason b\n"
						   "poll_cq * 1:61 * reason c\n");
	char wanted[1024];
	int pid = (int)getpid();

	outcome_relate_objects(outcome, 1, 2);
	differ_broken(1, 60);
	differ_broken(2, 70);
	differ_broken(9, 61);
	snprintf(wanted, sizeof(wanted),
		 "no divergence\n" NOTHING
		 "tolerated by /tmp/verbatim-outcome-text-%d:1: 1 x reason a; 1 consequence\n"
		 "unused: /tmp/verbatim-outcome-text-%d:2: reason b\n"
		 "tolerated by /tmp/verbatim-outcome-text-%d:3: 1 x reason c\n",
		 pid, pid, pid);
	expect_print(outcome_text, wanted);
	tolerate_close(tolerate);
}

TEST(a_part_and_a_stop_begin_the_verdict)
{
	assert_int_equal(outcome_set_part(outcome, "until 1:60"), 0);
	expect_verdict("until 1:60: no divergence");
	outcome_count(outcome, OUTCOME_SEEN, 1234);
	outcome_stop(outcome, "ended by SIGTERM");
	expect_verdict("partial, ended by SIGTERM after 1,234 events: until 1:60: no divergence");
}

static const char *style_of_text(char style[STYLE_LENGTH + 1])
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	style_enable(true);
	outcome_text(outcome, to);
	style_enable(false);
	fclose(to);
	snprintf(style, STYLE_LENGTH + 1, "%s", text);
	free(text);
	return style;
}

static void expect_style(enum style wanted)
{
	char style[STYLE_LENGTH + 1], is[STYLE_LENGTH + 1];

	style_enable(true);
	snprintf(style, sizeof(style), "%s", style_sequence(wanted));
	style_enable(false);
	style_of_text(is);
	is[strlen(style)] = '\0';
	assert_string_equal(is, style);
}

TEST(only_a_whole_replay_is_good)
{
	expect_style(STYLE_GOOD);
	skip_times(1, VERB_post_send, "it is left out");
	expect_style(STYLE_WARNING);
	differ_at(1, DIVERGENCE_OTHER, 0, 0);
	expect_style(STYLE_ERROR);
}

TEST(a_gap_is_a_warning)
{
	outcome_note_gap(outcome, "a gap");
	expect_style(STYLE_WARNING);
}

TEST(a_stopped_replay_is_a_warning)
{
	outcome_stop(outcome, "ended");
	expect_style(STYLE_WARNING);
}
