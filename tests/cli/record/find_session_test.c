/*
 * Which recorder is meant, what is said if there is none or several, and snapshots of one
 *
 * This process has the sessions of two recorders, and answers as both.
 */
#include "cli/record/find_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/snapshot.h"
#include "tests/printed.h"
#include "tests/test.h"

enum { SESSIONS = 2 };

static char folder[64];
static struct session sessions[SESSIONS];
static struct text said;

static void open_session(int i, const char *trace, bool flight)
{
	struct session *s = &sessions[i];

	assert_int_equal(session_create(s, NULL, 1 << 16, ON_FULL_WAIT), 0);
	strcpy(s->page->trace, trace);
	snprintf(s->page->command, SESSION_TEXT, "app %d", i);
	s->page->flight = flight;
}

/* A file that is recognized as a trace. */
static void put_trace(const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fwrite("SQLite format 3", 1, 16, file);
	assert_int_equal(fclose(file), 0);
}

static int begin_sessions(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/find_session_test-XXXXXX");
	memset(sessions, 0, sizeof(sessions));
	return !mkdtemp(folder) || setenv("VERBATIM_SESSIONS", folder, 1);
}

static int end_sessions(void **state)
{
	static const char *const names[] = { "one.db", "two.db" };
	char path[128];

	(void)state;
	for (int i = 0; i < SESSIONS; i++)
		if (sessions[i].page)
			session_remove(&sessions[i]);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	text_fini(&said);
	return rmdir(folder);
}

FIXTURE(begin_sessions, end_sessions);

/* The number of the session that is found, or the error. */
static int look_for(const char *name, enum find_session which)
{
	struct session found = { 0 };
	int err, i = 0;

	text_cut(&said, 0);
	printed_begin(true);
	err = find_session(name, which, &found);
	printed_end(&said);
	if (err)
		return err;
	while (i < SESSIONS && strcmp(found.dir, sessions[i].dir) != 0)
		i++;
	session_leave(&found);
	return i;
}

static void expect_said(const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_string_equal(said.at ?: "", text);
}

TEST(nothing_is_found_without_recorders)
{
	assert_int_equal(look_for(NULL, FIND_ANY), -ESRCH);
	expect_said("verbatim: no recorder is running: start one with 'verbatim record'\n");
	assert_int_equal(look_for(NULL, FIND_FLIGHT), -ESRCH);
	expect_said("verbatim: no flight recorder is running: start one with 'verbatim record "
		    "--flight SIZE'\n");
	assert_int_equal(look_for("1", FIND_ANY), -ESRCH);
	expect_said("verbatim: process 1 is neither a recorder nor a recorded process\n");
}

TEST(the_only_one_of_the_kind_is_found)
{
	open_session(0, "/x/one.db", false);
	assert_int_equal(look_for(NULL, FIND_ANY), 0);
	assert_int_equal(look_for(NULL, FIND_FLIGHT), -ESRCH);
	open_session(1, "/x/two.db", true);
	assert_int_equal(look_for(NULL, FIND_FLIGHT), 1);
	expect_said("");
	assert_int_equal(look_for(sessions[0].dir, FIND_ANY), 0);
	assert_int_equal(look_for(sessions[1].dir, FIND_ANY), 1);
}

TEST(several_are_listed)
{
	char pid[16];

	open_session(0, "/x/one.db", true);
	open_session(1, "/x/two.db", true);
	assert_int_equal(look_for(NULL, FIND_FLIGHT), -EINVAL);
	assert_non_null(strstr(said.at, "2 flight recorders are running: give the PID of one\n"));
	for (int i = 0; i < SESSIONS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "  %d: /x/%s.db, of app %d\n", (int)getpid(),
			 i ? "two" : "one", i);
		assert_non_null(strstr(said.at, line));
	}
	atomic_store(&sessions[0].page->state, SESSION_CLOSED);
	assert_int_equal(look_for(NULL, FIND_FLIGHT), 1);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(look_for(pid, FIND_ANY), 1);
}

TEST(one_that_has_stopped_is_only_found_by_its_name)
{
	open_session(0, "/x/one.db", false);
	atomic_store(&sessions[0].page->state, SESSION_CLOSED);
	assert_int_equal(look_for(NULL, FIND_ANY), -ESRCH);
	assert_int_equal(look_for(sessions[0].dir, FIND_ANY), 0);
	assert_int_equal(look_for(sessions[0].dir, FIND_FLIGHT), -ESRCH);
	expect_said("verbatim: the recording in %s has ended\n", sessions[0].dir);
	assert_int_equal(look_for("/nowhere", FIND_ANY), -ENOENT);
}

TEST(a_trace_names_the_recorder_that_writes_it)
{
	char path[2][128], relative[256] = "";
	int depth = 0;
	char here[PATH_MAX];

	for (int i = 0; i < 2; i++) {
		put_trace(i ? "two.db" : "one.db");
		snprintf(path[i], sizeof(path[i]), "%s/%s.db", folder, i ? "two" : "one");
	}
	/* from this process's directory */
	assert_non_null(getcwd(here, sizeof(here)));
	for (const char *at = here; *at; at++)
		depth += *at == '/' && at[1];
	for (; depth; depth--)
		strcat(relative, "../");
	strcat(relative, path[0] + 1);
	open_session(0, relative, false);
	open_session(1, path[1], false);
	assert_int_equal(look_for(path[0], FIND_ANY), 0);
	assert_int_equal(look_for(path[1], FIND_ANY), 1);
	atomic_store(&sessions[1].page->state, SESSION_CLOSED);
	assert_int_equal(look_for(path[1], FIND_ANY), -ESRCH);
	expect_said("verbatim: %s is not being recorded on this node\n", path[1]);
}

/* Snapshots */

static const char *answer;
static uint32_t asked; /* before this snapshot */

/* What the recorder does when it is asked. */
static void *make_copy(void *arg)
{
	struct session_page *page = arg;

	while (atomic_load(&page->copies_asked) == asked)
		sched_yield();
	strcpy(page->copy, answer);
	atomic_store(&page->copies_made, atomic_load(&page->copies_asked));
	return NULL;
}

static int take_from(struct session *of, char path[PATH_MAX])
{
	pthread_t recorder;
	int err;

	asked = atomic_load(&of->page->copies_asked);
	assert_int_equal(pthread_create(&recorder, NULL, make_copy, of->page), 0);
	text_cut(&said, 0);
	printed_begin(true);
	err = snapshot_take(of, path);
	printed_end(&said);
	pthread_join(recorder, NULL);
	return err;
}

TEST(a_snapshot_is_waited_for)
{
	char path[PATH_MAX] = "";

	answer = "/x/one.2.db";
	open_session(0, "/x/one.db", true);
	assert_int_equal(take_from(&sessions[0], path), 0);
	assert_string_equal(path, "/x/one.2.db");
	assert_int_equal(atomic_load(&sessions[0].page->copies_asked), 1);
	answer = "";
	atomic_store(&sessions[0].page->copies_made, 0);
	assert_int_equal(take_from(&sessions[0], path), -EIO);
	expect_said("verbatim: the recorder could not write a snapshot of /x/one.db; see its "
		    "output\n");
}

TEST(no_snapshot_comes_of_another_recording_or_of_one_that_has_ended)
{
	char path[PATH_MAX] = "";

	open_session(0, "/x/one.db", false);
	text_cut(&said, 0);
	printed_begin(true);
	assert_int_equal(snapshot_take(&sessions[0], path), -EOPNOTSUPP);
	printed_end(&said);
	expect_said("verbatim: /x/one.db is neither a flight recording (--flight) nor the "
		    "recording of a node of a job\n");
	sessions[0].page->flight = 1;
	atomic_store(&sessions[0].page->state, SESSION_CLOSED);
	assert_int_equal(snapshot_take(&sessions[0], path), -ESRCH);
}
