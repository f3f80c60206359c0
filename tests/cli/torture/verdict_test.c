/*
 * Places, failures and verdicts of stored recordings: verdict_test.txt
 *
 * Each failure of each place of a recording is listed, and then judged as if it had been tried, and
 * the program had recorded the same or another trace, ended in each way, and written each text.
 */
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/torture/verdict.h"
#include "core/base/text.h"
#include "tests/core/store/example.h"
#include "tests/test.h"
#include "tests/transcript.h"

static char folder[200];
static struct text out;

static void name_file(const char *name, char path[RUN_PATH])
{
	snprintf(path, RUN_PATH, "%s/%s", folder, name);
}

static void write_output(const char *name, const char *text)
{
	char path[RUN_PATH];
	FILE *file;

	name_file(name, path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* The run has recorded that trace. */
static void take_trace(const char *trace)
{
	char path[RUN_PATH], from[RUN_PATH], real[PATH_MAX];

	name_file("trace.db", path);
	unlink(path);
	snprintf(from, sizeof(from), "tests/conformance/%s", trace);
	assert_non_null(realpath(from, real));
	assert_int_equal(symlink(real, path), 0);
}

static int begin_run(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/verdict-XXXXXX", tmp ? tmp : "/tmp");
	return !mkdtemp(folder);
}

static int end_run(void **state)
{
	static const char *const names[] = { "trace.db", "out", "err" };
	char path[RUN_PATH];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		name_file(names[i], path);
		unlink(path);
	}
	return rmdir(folder);
}

static void put_sites(const struct sites *sites)
{
	for (uint32_t i = 0; i < sites->nodes; i++)
		text_addf(&out, "node %u is process %u\n", i, sites->processes[i]);
	for (size_t i = 0; i < sites->n; i++) {
		const struct site *s = &sites->all[i];

		text_addf(&out, "node %u %s opcode %d%s first %u last %u of %u at '%s'\n", s->node,
			  s->name, s->opcode, s->datagram ? " datagram" : "", (unsigned)s->first,
			  (unsigned)s->last, (unsigned)s->calls, s->place);
	}
}

static void put_failures(const struct failures *failures)
{
	for (size_t i = 0; i < failures->n; i++) {
		const struct failure *f = &failures->all[i];

		text_addf(&out, "%u: %s | %s | n %u error %d status %d%s%s\n", f->number, f->what,
			  f->rule, (unsigned)f->n, f->error, f->status, f->kills ? " kills" : "",
			  f->chaos ? " chaos" : "");
	}
}

static struct run make_run(void)
{
	struct run run = { .device = "soft" };

	snprintf(run.folder, sizeof(run.folder), "%s", folder);
	return run;
}

/* The failures of the sites of @trace, of the software device or by the recorder. */
static void list_trace(const char *trace, bool by_recorder, bool every, struct sites *sites,
		       struct failures *failures)
{
	char path[RUN_PATH];

	take_trace(trace);
	name_file("trace.db", path);
	assert_int_equal(sites_read(path, by_recorder, sites), 0);
	assert_int_equal(failures_list(sites, every, failures), 0);
}

static void put_trace(const char *trace, bool by_recorder, bool every)
{
	struct failures failures;
	struct sites sites;

	list_trace(trace, by_recorder, every, &sites, &failures);
	text_addf(&out, "== %s%s%s\n", trace, by_recorder ? " by the recorder" : "",
		  every ? " every" : "");
	if (!every)
		put_sites(&sites);
	put_failures(&failures);
	failures_fini(&failures);
	sites_fini(&sites);
}

/* How a program ends, and what it writes. */
static const struct ending {
	int status;
	bool late;
	const char *out, *err;
} endings[] = {
	{ 0, false, "sent 17\n", "" },
	{ 0, false, "sent 1234\n", "" },
	{ 0, false, "gave up\n", "" },
	{ 3, false, "", "cannot create\n" },
	{ 128 + 9, true, "", "" },
	{ 128 + 11, false, "", "" },
	{ 128 + 15, false, "", "" },
	{ 128 + 6, false, "", "one\napp: a.c:7: Assertion `x' failed.\ntwo\n" },
	{ 1, false, "", "==1==ERROR: AddressSanitizer: heap\nSUMMARY: 3 failures\n" },
	{ 0, false, "", "a.c:7: runtime error: shift\n" },
};

/* One in @step of the endings, from @at on. */
static void judge_endings(const struct reference *reference, const struct failure *failure,
			  bool by_recorder, size_t at, size_t step)
{
	struct run run = make_run();
	struct judgement judgement;

	run.by_recorder = by_recorder;
	text_addf(&out, "-- %s\n", failure->what);
	for (size_t i = at % step; i < sizeof(endings) / sizeof(*endings); i += step) {
		const struct run_end end = { endings[i].status, endings[i].late, 5 };

		write_output("out", endings[i].out);
		write_output("err", endings[i].err);
		assert_int_equal(verdict_judge(reference, failure, &run, &end, &judgement), 0);
		text_addf(&out, "%3d%s: %s, %s\n", end.status, end.late ? " late" : "",
			  verdict_name(judgement.verdict), judgement.says);
		if (judgement.verdict == VERDICT_MISSED)
			break;
	}
}

/* Learnt from one run, or from two whose outputs are @first and @second. */
static struct reference learn_runs(const char *trace, const char *first, const char *second)
{
	const struct run_end end = { .took = 7 }, longer = { .took = 9 };
	struct reference reference = { 0 };
	struct run run = make_run();

	take_trace(trace);
	write_output("err", "");
	write_output("out", first);
	assert_int_equal(reference_learn(&reference, &run, &end), 0);
	write_output("out", second);
	assert_int_equal(reference_learn(&reference, &run, &longer), 0);
	assert_int_equal(reference.took, 9);
	text_addf(&out, "reference of %s: output '%s'\n", trace,
		  reference.output ? reference.output : "differs");
	for (size_t i = 0; i < reference.nfindings; i++)
		text_addf(&out, "  %s\n", reference.findings[i]);
	return reference;
}

/* One failure in @step of those of @trace, as if the run had recorded @after. */
static void judge_trace(const char *trace, const char *after, size_t step, bool by_recorder)
{
	struct reference reference = learn_runs(trace, "sent 5\n", "sent 16\n");
	struct failures failures;
	struct sites sites;

	list_trace(trace, by_recorder, false, &sites, &failures);
	take_trace(after);
	text_addf(&out, "== %s, then %s\n", trace, after);
	for (size_t i = 0; i < failures.n; i += step)
		judge_endings(&reference, &failures.all[i], by_recorder, i / step, 3);
	failures_fini(&failures);
	sites_fini(&sites);
	reference_fini(&reference);
}

/* Sends of one place: a letter each, 'f' fails. */
static void take_posts(const char *sends)
{
	struct example_wr wr = { .opcode = IBV_WR_SEND,
				 .flags = IBV_SEND_SIGNALED,
				 .lengths = { 8 } };
	char path[RUN_PATH];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_receive(&example.ends[1], 1, 64);
	for (; *sends; sends++) {
		wr.wr_id++;
		example_post_list(&example.ends[0], VERB_post_send, &example.ends[0].qp, &wr, 1,
				  *sends == 'f');
	}
	example_finish(&example);
	name_file("trace.db", path);
	unlink(path);
	assert_int_equal(rename(example.path, path), 0);
}

/* A post that fails as it should, and is tried again or not. */
static void judge_posts(void)
{
	static const char *const after[] = { "oo", "fo", "of", "ff", "f", "fof", "foo" };
	const struct run_end end = { .took = 7 };
	struct reference reference = { 0 };
	struct run run = make_run();
	struct failures failures;
	struct sites sites;
	char path[RUN_PATH];

	take_posts("oo");
	write_output("out", "done\n");
	write_output("err", "");
	assert_int_equal(reference_learn(&reference, &run, &end), 0);
	name_file("trace.db", path);
	assert_int_equal(sites_read(path, false, &sites), 0);
	assert_int_equal(failures_list(&sites, false, &failures), 0);
	for (size_t k = 0; k < sizeof(after) / sizeof(*after); k++) {
		take_posts(after[k]);
		text_addf(&out, "== posts '%s'\n", after[k]);
		for (size_t i = 0; i < failures.n; i++)
			if (strstr(failures.all[i].rule, "verb=post_send"))
				judge_endings(&reference, &failures.all[i], false, 0, 3);
	}
	failures_fini(&failures);
	sites_fini(&sites);
	reference_fini(&reference);
}

static void judge_chaos_run(const char *second)
{
	struct reference reference = learn_runs("soft/rc.db", "sent 1\n", second);
	struct failures failures;

	assert_int_equal(failures_chaos(77, 2, &failures), 0);
	put_failures(&failures);
	take_trace("soft/rc.db");
	judge_endings(&reference, &failures.all[0], true, 0, 1);
	failures_fini(&failures);
	reference_fini(&reference);
}

static void refuse_run(int status, bool late, const char *errors)
{
	const struct run_end end = { .status = status, .late = late };
	struct reference reference = { 0 };
	struct run run = make_run();

	write_output("err", errors);
	assert_int_equal(reference_learn(&reference, &run, &end), -EINVAL);
}

GROUP(begin_run, end_run);

TEST(verdicts_are_those_of_the_transcript)
{
	put_trace("soft/rc.db", false, false);
	put_trace("soft/rc.db", true, false);
	put_trace("soft/refused.db", false, true);
	put_trace("soft/ud.db", true, true);
	put_trace("soft/rdma_server.db", true, false);
	put_trace("soft/every_verb.db", true, false);
	judge_trace("soft/rc.db", "soft/rc.db", 9, false);
	judge_trace("soft/refused.db", "soft/refused.db", 1, false);
	judge_trace("soft/refused.db", "soft/refused.db", 5, true);
	judge_trace("soft/ud.db", "soft/statuses_send.db", 11, false);
	judge_trace("soft/ud.db", "soft/first_error.db", 12, true);
	judge_trace("soft/rc.db", "soft/killed_peer.db", 47, false);
	judge_trace("rxe/two_ends.db", "rxe/two_ends.db", 2, true);
	judge_trace("soft/payload.db", "soft/payload.db", 19, false);
	judge_trace("soft/statuses_send.db", "soft/statuses_send.db", 5, false);
	judge_trace("soft/every_verb.db", "soft/errors.db", 41, false);
	judge_posts();
	judge_chaos_run("sent 2\n");
	judge_chaos_run("other\n");
	transcript_expect(__FILE__, &out);
}

TEST(a_program_that_fails_by_itself_is_no_reference)
{
	refuse_run(1, false, "one\nthe last line\n");
	refuse_run(0, true, "");
}

TEST(verdicts_have_names)
{
	for (int i = 0; i < VERDICTS; i++) {
		assert_int_equal(verdict_find(verdict_name((enum verdict)i)), i);
		assert_int_equal(verdict_is_bad((enum verdict)i), i < VERDICT_HANDLED);
	}
	assert_int_equal(verdict_find("none"), VERDICTS);
}
