/*
 * The recorders of a job on one node, and their collector, which is a process of this test
 */
#include "cli/record/node.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/wire/clock.h"
#include "core/wire/launcher.h"
#include "tests/printed.h"
#include "tests/test.h"

enum { MEMBERS = 3 };

static char folder[64];

static void forget_launchers(void)
{
	for (const struct launcher *each = launchers; each->name; each++)
		for (int fact = 0; fact < LAUNCHER_FACTS; fact++)
			if (each->variables[fact])
				unsetenv(each->variables[fact]);
}

static int begin_node(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/node_test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	forget_launchers();
	return setenv("VERBATIM_SESSIONS", folder, 1);
}

/* Nothing of a recording is left. */
static int end_node(void **state)
{
	(void)state;
	return rmdir(folder);
}

FIXTURE(begin_node, end_node);

static void set_rank(const char *rank, const char *size, const char *local)
{
	setenv("OMPI_COMM_WORLD_RANK", rank, 1);
	setenv("OMPI_COMM_WORLD_SIZE", size, 1);
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", local, 1);
}

TEST(a_trace_is_shared_by_ranks_unless_its_name_tells_them_apart)
{
	static const struct {
		const char *pattern, *rank, *size;
		bool shared;
	} rows[] = {
		{ "t.db", NULL, NULL, false },  { "t.db", "0", "2", true },
		{ "t.db", "1", "2", true },     { "t.db", "0", "1", false },
		{ "t%r.db", "0", "2", false },  { "t%p.db", "0", "2", false },
		{ "t%n%j.db", "0", "2", true }, { "t%%r.db", "0", "2", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		forget_launchers();
		if (rows[i].rank)
			set_rank(rows[i].rank, rows[i].size, rows[i].size);
		assert_int_equal(node_is_shared(rows[i].pattern), rows[i].shared);
	}
}

static void expect_text(const char *expected)
{
	char text[SESSION_TEXT];

	node_describe("app -x", text);
	assert_string_equal(text, expected);
}

TEST(a_job_is_described)
{
	char name[SESSION_TEXT];
	struct utsname host;

	uname(&host);
	expect_text("ranks: app -x");
	node_name(name);
	assert_string_equal(name, host.nodename);
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_JOB_ID", "77", 1);
	expect_text("job 77: app -x");
	setenv("SLURM_STEP_ID", "3", 1);
	expect_text("job 77.3: app -x");
	setenv("SLURMD_NODENAME", "n9", 1);
	expect_text("job 77.3 on n9: app -x");
	node_name(name);
	assert_string_equal(name, "n9");
}

/* The collector: it notes the ends of programs, until all members have left. */
static int collect_ends(void *arg, struct node *node)
{
	struct session session;
	struct node_end end;
	int status = *(int *)arg;

	if (status > 100)
		return status; /* before there is a session */
	memset(&session, 0, sizeof(session));
	if (session_create(&session, NULL, 1 << 16, ON_FULL_WAIT) || node_open(node, &session))
		return 99;
	do {
		session_sleep(&session, 1000000);
		while (node_next_end(node, &end))
			fprintf(stderr, "end of %d: %d\n", end.pid, end.status);
	} while (node_has_members(node, &session, 10000000000) || !node_close(node, &session));
	fflush(stderr);
	session_remove(&session);
	return status;
}

static const char *name_trace(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

TEST(members_share_a_collector_and_the_last_one_has_its_status)
{
	struct node nodes[MEMBERS];
	struct text said = { 0 };
	int status = 7;

	set_rank("0", "3", "3");
	for (int i = 0; i < MEMBERS; i++) {
		assert_int_equal(node_join(&nodes[i], name_trace("t.db"), collect_ends, &status),
				 0);
		assert_string_equal(nodes[i].session.dir, nodes[0].session.dir);
		assert_int_equal(nodes[i].expected, 3);
		assert_int_equal(nodes[i].door, -1);
	}
	assert_int_equal(atomic_load(&nodes[0].session.page->recorders), MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		node_report_end(&nodes[i], &(struct node_end){ .pid = 10 + i, .status = i << 8 });
	assert_int_equal(node_leave(&nodes[1]), 0);
	assert_int_equal(node_leave(&nodes[0]), 0);
	printed_begin(true);
	assert_int_equal(node_leave(&nodes[2]), 7);
	printed_end(&said);
	assert_string_equal(said.at, "end of 10: 0\nend of 11: 256\nend of 12: 512\n");
	text_fini(&said);
}

TEST(a_trace_after_it_and_another_one_have_collectors_of_their_own)
{
	struct node first, second, other;
	char dir[SESSION_PATH];
	int status = 0;

	set_rank("0", "3", "1");
	assert_int_equal(node_join(&first, name_trace("t.db"), collect_ends, &status), 0);
	assert_int_equal(node_join(&other, name_trace("u.db"), collect_ends, &status), 0);
	assert_string_not_equal(first.session.dir, other.session.dir);
	strcpy(dir, first.session.dir);
	assert_int_equal(node_leave(&first), 0);
	status = 3;
	assert_int_equal(node_join(&second, name_trace("t.db"), collect_ends, &status), 0);
	assert_string_not_equal(second.session.dir, dir);
	assert_int_equal(node_leave(&second), 3);
	assert_int_equal(node_leave(&other), 0);
}

TEST(a_collector_that_cannot_begin_has_the_status)
{
	struct node node;
	int status = 101;

	set_rank("0", "2", "2");
	assert_int_equal(node_join(&node, name_trace("t.db"), collect_ends, &status), 101);
	unlink(node.path);
}

TEST(a_door_that_is_no_file_of_ours_is_refused)
{
	struct node node;
	struct text said = { 0 };
	int status = 0;

	set_rank("0", "2", "2");
	assert_int_equal(node_join(&node, name_trace("t.db"), collect_ends, &status), 0);
	assert_int_equal(node_leave(&node), 0);
	assert_int_equal(symlink("/dev/null", node.path), 0);
	printed_begin(true);
	status = node_join(&node, name_trace("t.db"), collect_ends, &status);
	printed_end(&said);
	assert_int_equal(status, CLI_ENVIRONMENT);
	assert_non_null(strstr(said.at, "open "));
	text_fini(&said);
	unlink(node.path);
}

TEST(a_collector_that_is_killed_is_reported)
{
	struct node node;
	struct text said = { 0 };
	int status = 0;

	set_rank("0", "2", "2");
	assert_int_equal(node_join(&node, name_trace("t.db"), collect_ends, &status), 0);
	kill((pid_t)node.session.page->collector, SIGKILL);
	printed_begin(true);
	status = node_leave(&node);
	printed_end(&said);
	assert_int_equal(status, CLI_TRACE);
	assert_non_null(strstr(said.at, "the collector of this node has died: 'verbatim collect "));
	text_fini(&said);
	waitpid(-1, NULL, 0);
	session_clear(open(node.session.dir, O_RDONLY | O_DIRECTORY));
	rmdir(node.session.dir);
	unlink(node.path);
}
