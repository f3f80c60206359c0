/*
 * Stopping a program at a failure: what is asked for, and what is said and done about a process
 * that has stopped, which is a child of this test
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "cli/record/guests.h"
#include "cli/record/stop_point.h"
#include "core/store/write/writer.h"
#include "core/wire/desc.h"
#include "core/wire/session.h"
#include "tests/printed.h"
#include "tests/test.h"

static struct stop_setting setting_of(const char *text)
{
	struct stop_setting set = { .finding = false };
	char complaint[OPTIONS_COMPLAINT];

	assert_int_equal(stop_point_parse(text, &set, complaint), 0);
	return set;
}

TEST(words_add_up)
{
	struct stop_setting set = setting_of("error,ibv_modify_qp,IBV_WC_RNR_RETRY_EXC_ERR,every");

	assert_true(set.rule.on && set.rule.errors && set.rule.every && !set.finding);
	assert_true(stop_has_verb(&set.rule, VERB_modify_qp));
	assert_false(stop_has_verb(&set.rule, VERB_query_qp));
	assert_true(stop_has_status(&set.rule, 13));
	assert_false(stop_has_status(&set.rule, 12));
}

TEST(findings_are_not_the_programs_own_matter)
{
	struct stop_setting set = setting_of("finding");

	assert_true(set.finding && !set.rule.on);
}

TEST(what_means_nothing_is_refused)
{
	static const char *const texts[] = {
		"", "every", "IBV_WC_SUCCESS", "errors", "1:2", "error,no_verb",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct stop_setting set = { .finding = true };
		char complaint[OPTIONS_COMPLAINT];

		assert_int_equal(stop_point_parse(texts[i], &set, complaint), -EINVAL);
		assert_true(set.finding && *complaint);
	}
}

/* A process that has stopped */

static struct session_page page;
static struct session session = { .page = &page, .dir = "/sessions/x" };
static struct progress progress = { .quiet = true };
static struct stop_point spot;
static struct text said;
static uint32_t thread; /* of the trace; 0: it is not there yet */
static bool is_guest, core_fails, core_is_done;
static int ncores, nreports;
static uint64_t now_ns;
static pid_t child;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000),
				       .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

uint32_t writer_find_thread(struct writer *writer, int pid, int tid)
{
	assert_null(writer);
	assert_int_equal(pid, child);
	assert_int_equal(tid, child);
	return thread;
}

void writer_find_module(struct writer *writer, int pid, uint64_t ip,
			void (*each)(void *arg, const char *path, const char *build_id,
				     uint64_t offset),
			void *arg)
{
	(void)writer;
	(void)pid;
	each(arg, "/nowhere/app", NULL, ip - 0x400000);
}

bool guests_is_started_in(pid_t pid, const char *dir)
{
	assert_int_equal(pid, child);
	assert_string_equal(dir, session.dir);
	return is_guest;
}

int core_begin(struct core_file *core, const char *prefix, pid_t pid)
{
	assert_string_equal(prefix, "t.db.4-39.core");
	ncores++;
	if (core_fails)
		return -ENOENT;
	core->writer = 1;
	core->pid = pid;
	core_is_done = false;
	return 0;
}

bool core_has_ended(struct core_file *core, bool wait)
{
	if (!core_is_done && !wait)
		return false;
	core->writer = 0;
	return true;
}

void core_report(struct core_file *core)
{
	text_addf(&said, "core of: %s\n", core->what);
	nreports++;
}

static void await_state(int option)
{
	int status;

	assert_int_equal(waitpid(child, &status, option), child);
}

/* The child stops, each time it is continued. */
static int begin_stopped(void **state)
{
	(void)state;
	memset(&page, 0, sizeof(page));
	spot = (struct stop_point){ .session = &session, .progress = &progress, .path = "t.db" };
	thread = 4;
	is_guest = true;
	core_fails = false;
	ncores = nreports = 0;
	now_ns = 1000;
	child = fork();
	while (!child)
		raise(SIGSTOP);
	await_state(WUNTRACED);
	page.spot.pid = page.spot.tid = child;
	page.spot.n = 39;
	page.spot.verb = VERB_modify_qp;
	page.spot.error = EINVAL;
	page.spot.nframes = 1;
	page.spot.frames[0] = 0x401234;
	atomic_store(&page.spot.state, STOP_TAKEN);
	return 0;
}

static int end_stopped(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	await_state(0);
	text_fini(&said);
	return 0;
}

FIXTURE(begin_stopped, end_stopped);

static bool look_once(void)
{
	bool soon;

	printed_begin(true);
	soon = stop_point_check(&spot);
	printed_end(&said);
	return soon;
}

#define PLACE "app+0x1234 (file not found)"

static void expect_said(const char *what)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"verbatim: %s: pid %d is stopped here, in its thread %d: `gdb -p %d`, `thread find "
		"%d`; it continues when the debugger detaches, or with `kill -CONT %d`\n",
		what, child, child, child, child, child);
	assert_string_equal(said.at ?: "", *what ? text : "");
	text_cut(&said, 0);
}

TEST(a_stopped_process_is_reported_after_one_more_round)
{
	assert_true(look_once());
	expect_said("");
	assert_false(look_once());
	expect_said("ibv_modify_qp() failed with 22 (Invalid argument) at 4:39 in " PLACE);
	assert_int_equal(spot.nstopped, 1);
	assert_int_equal(atomic_load(&page.spot.state), STOP_OVER);
	assert_false(look_once());
	expect_said("");
}

TEST(a_completion_is_described_and_the_next_one_may_come)
{
	page.stop.every = true;
	page.spot.status = IBV_WC_RETRY_EXC_ERR;
	page.spot.wr_id = 0x77;
	page.spot.qp_num = 0x111;
	page.spot.verb = VERB_poll_cq;
	page.spot.n = 0;
	page.spot.nframes = 0;
	look_once();
	look_once();
	expect_said("ibv_poll_cq() returned IBV_WC_RETRY_EXC_ERR, wr_id 0x77, qp_num 0x111");
	assert_int_equal(atomic_load(&page.spot.state), STOP_FREE);
}

TEST(garbage_in_the_page_is_described)
{
	page.spot.status = 99;
	page.spot.verb = VERB_COUNT;
	page.spot.nframes = 0;
	look_once();
	look_once();
	expect_said("a verb() returned an error, wr_id 0x0, qp_num 0x0 at 4:39");
}

/* The first events of the thread may not have been read yet. */
TEST(a_thread_that_the_trace_lacks_is_waited_for)
{
	thread = 0;
	for (int i = 0; i < 3; i++)
		assert_true(look_once());
	now_ns += 999999999;
	assert_true(look_once());
	now_ns++;
	assert_false(look_once());
	expect_said("ibv_modify_qp() failed with 22 (Invalid argument) in " PLACE);
}

TEST(a_process_that_is_no_guest_or_has_gone_on_is_not_reported)
{
	is_guest = false;
	look_once();
	assert_false(look_once());
	expect_said("");
	assert_int_equal(spot.nstopped, 0);
	assert_int_equal(atomic_load(&page.spot.state), STOP_OVER);
	kill(child, SIGKILL);
	await_state(0);
	atomic_store(&page.spot.state, STOP_TAKEN);
	is_guest = true;
	look_once();
	assert_true(look_once());
	now_ns += 1000000000;
	assert_false(look_once());
	expect_said("");
	assert_int_equal(spot.nstopped, 0);
	child = fork(); /* for the fixture */
	while (!child)
		pause();
}

TEST(the_end_continues_it)
{
	look_once();
	look_once();
	stop_point_end(&spot);
	await_state(WCONTINUED | WUNTRACED); /* it stops again */
	assert_int_equal(spot.nstopped, 0);
}

TEST(one_that_has_ended_is_forgotten)
{
	look_once();
	look_once();
	kill(child, SIGKILL);
	await_state(0);
	look_once();
	assert_int_equal(spot.nstopped, 0);
	child = fork();
	while (!child)
		pause();
}

/* The thread continued, and has stopped at another place. */
TEST(one_that_has_stopped_again_is_reported_again)
{
	page.stop.every = true;
	look_once();
	look_once();
	text_cut(&said, 0);
	page.spot.n = 40;
	atomic_store(&page.spot.state, STOP_TAKEN);
	assert_true(look_once());
	assert_int_equal(spot.nstopped, 0);
	assert_false(look_once());
	expect_said("ibv_modify_qp() failed with 22 (Invalid argument) at 4:40 in " PLACE);
	assert_int_equal(spot.nstopped, 1);
}

TEST(a_core_is_written_and_the_process_goes_on)
{
	page.stop.core = true;
	look_once();
	assert_false(look_once());
	assert_int_equal(ncores, 1);
	assert_false(look_once());
	assert_int_equal(nreports, 0);
	assert_int_equal(atomic_load(&page.spot.state), STOP_TAKEN);
	core_is_done = true;
	assert_false(look_once());
	assert_string_equal(said.at, "core of: ibv_modify_qp() failed with 22 (Invalid argument) "
				     "at 4:39 in " PLACE "\n");
	await_state(WCONTINUED | WUNTRACED); /* it stops again */
	assert_int_equal(atomic_load(&page.spot.state), STOP_OVER);
	assert_int_equal(ncores, 1);
}

TEST(a_core_is_waited_for_at_the_end)
{
	page.stop.core = true;
	look_once();
	look_once();
	stop_point_end(&spot);
	assert_int_equal(nreports, 1);
	await_state(WCONTINUED | WUNTRACED); /* it stops again */
}

TEST(without_a_core_the_process_goes_on)
{
	page.stop.core = true;
	core_fails = true;
	look_once();
	look_once();
	await_state(WCONTINUED | WUNTRACED); /* it stops again */
	assert_int_equal(atomic_load(&page.spot.state), STOP_OVER);
}
