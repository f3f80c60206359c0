#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];

static int choose_path(void **state)
{
	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	return 0;
}

static bool file_exists(const char *tail)
{
	char name[300];

	snprintf(name, sizeof(name), "%s%s", path, tail);
	return !access(name, F_OK);
}

static int remove_path(void **state)
{
	static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
	char name[300];

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		unlink(name);
	}
	return 0;
}

static int open_it(void)
{
	struct trace *trace = (void *)-1;
	int err = trace_open(path, &trace);

	if (err)
		assert_ptr_equal(trace, (void *)-1);
	else
		trace_close(trace);
	return err;
}

/* A small trace with all kinds of events; not finished. */
static struct writer *begin_trace(struct maker *m, struct make_world *world)
{
	struct writer *w = make_writer(path);

	make_thread(m, w, 0, 100, 101);
	make_process(m, 1, 0, 0, 0);
	make_world(m, world, 17);
	make_modify(m, world, IBV_QPS_RTS);
	for (uint64_t i = 0; i < 20; i++)
		make_post(m, VERB_post_send, &world->qp, i, IBV_WR_SEND, IBV_SEND_SIGNALED);
	return w;
}

static void make_trace(void)
{
	struct make_world world;
	struct maker m;
	struct writer *w = begin_trace(&m, &world);

	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
}

static void write_file(const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

FIXTURE(choose_path, remove_path);

TEST(whole_trace_is_one_file)
{
	struct trace *trace;

	make_trace();
	assert_false(file_exists("-wal"));
	assert_false(file_exists("-shm"));
	assert_false(file_exists("-journal"));
	assert_int_equal(trace_open(path, &trace), 0);
	assert_string_equal(trace_meta(trace, "state"), "complete");
	assert_string_equal(trace_meta(trace, "command"), "app --flag");
	assert_string_equal(trace_meta(trace, "device"), "soft");
	assert_null(trace_meta(trace, "no such key"));
	assert_false(trace_loss(trace).interrupted);
	assert_false(trace_loss(trace).damaged);
	assert_string_equal(trace_process(trace, 1)->exe, "/usr/bin/app");
	assert_string_equal(trace_process(trace, 1)->cmdline, "app --flag");
	assert_string_equal(trace_thread(trace, 1)->comm, "thread-101");
	assert_null(trace_process(trace, 2));
	assert_null(trace_thread(trace, 0));
	trace_close(trace);
}

/* A process of one event, with limits and an environment. */
static void make_surroundings(uint8_t ipc_lock, uint32_t page_size)
{
	static const char environ[] =
		"RDMAV_FORK_SAFE=1\0UCX_TLS=rc,self\0=nameless\0no value\0"
		"VERBATIM_REPLAY_KEY=hunter2\0RDMAV_FORK_SAFE=2\0NCCL_DEBUG=cut";
	const size_t bytes = make_round(sizeof(struct event_process) + sizeof(environ) - 1);
	struct writer *w = make_writer(path);
	struct event_process *e;
	struct maker m;

	make_thread(&m, w, 0, 100, 101);
	e = make_room(&m, EVENT_PROCESS, 0, bytes);
	e->pid = 100;
	e->environ_bytes = sizeof(environ) - 1;
	e->memlock = 8 << 20;
	e->memlock_most = EVENT_UNLIMITED;
	e->nofile = 1024;
	e->nofile_most = 4096;
	e->ipc_lock = ipc_lock;
	e->page_size = page_size;
	memcpy(e + 1, environ, sizeof(environ) - 1);
	make_done(&m, e, bytes);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
}

TEST(a_process_has_its_limits)
{
	const struct process *process;
	struct trace *trace;

	make_surroundings(IPC_LOCK_MISSING, 4096);
	assert_int_equal(trace_open(path, &trace), 0);
	process = trace_process(trace, 1);
	assert_int_equal(process->page_size, 4096);
	assert_int_equal(process->memlock, 8 << 20);
	assert_true(process->memlock_most == PROCESS_UNLIMITED);
	assert_int_equal(process->nofile, 1024);
	assert_int_equal(process->nofile_most, 4096);
	assert_int_equal(process->ipc_lock, 0);
	trace_close(trace);
}

TEST(limits_that_could_not_be_read_are_not_known)
{
	struct trace *trace;

	make_surroundings(IPC_LOCK_UNKNOWN, 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_process(trace, 1)->page_size, 0);
	assert_int_equal(trace_process(trace, 1)->ipc_lock, -1);
	trace_close(trace);
}

TEST(a_process_has_its_environment)
{
	struct trace *trace;
	char value[16];

	make_surroundings(IPC_LOCK_HELD, 4096);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_process(trace, 1)->ipc_lock, 1);
	assert_true(trace_environ(trace, 1, "RDMAV_FORK_SAFE", value, sizeof(value)));
	assert_string_equal(value, "1"); /* getenv() finds the first, too */
	assert_true(trace_environ(trace, 1, "UCX_TLS", value, 4));
	assert_string_equal(value, "rc,");
	assert_false(trace_environ(trace, 1, "VERBATIM_REPLAY_KEY", value, sizeof(value)));
	assert_false(trace_environ(trace, 1, "NCCL_DEBUG", value, sizeof(value)));
	assert_false(trace_environ(trace, 2, "UCX_TLS", value, sizeof(value)));
	assert_string_equal(value, "");
	trace_close(trace);
}

TEST(trace_is_private)
{
	struct stat st;

	make_trace();
	stat(path, &st);
	assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(close_accepts_null)
{
	trace_close(NULL);
	cursor_close(NULL);
	args_unref(NULL);
}

TEST(missing_file_is_enoent)
{
	assert_int_equal(open_it(), -ENOENT);
}

TEST(empty_file_is_einval)
{
	write_file("", 0);
	assert_int_equal(open_it(), -EINVAL);
}

TEST(text_is_einval)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	write_file(text, 20);
	assert_int_equal(open_it(), -EINVAL);
	write_file(text, sizeof(text));
	assert_int_equal(open_it(), -EINVAL);
}

TEST(directory_is_einval)
{
	struct trace *trace;

	assert_int_equal(trace_open("/tmp", &trace), -EINVAL);
}

TEST(foreign_database_is_einval_and_untouched)
{
	struct stat before, after;
	sqlite3 *db;

	sqlite3_open(path, &db);
	sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", NULL, NULL, NULL);
	sqlite3_close(db);
	stat(path, &before);
	assert_int_equal(open_it(), -EINVAL);
	stat(path, &after);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_false(file_exists("-wal"));
}

TEST(other_versions_are_eproto)
{
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), -EPROTO);
	sqlite3_open(path, &db);
	sqlite3_exec(db, "PRAGMA user_version = 0", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), -EPROTO);
}

TEST(the_version_before_is_read)
{
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	sqlite3_exec(db, "DROP TABLE waited; PRAGMA user_version = 6", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), 0);
}

TEST(version_9_has_no_counters)
{
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	sqlite3_exec(db, "DROP TABLE counter", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), -EPROTO);
	sqlite3_open(path, &db);
	sqlite3_exec(db, "PRAGMA user_version = 9", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), 0);
}

TEST(a_table_that_this_version_has_is_missed)
{
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	sqlite3_exec(db, "DROP TABLE waited", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), -EPROTO);
}

/* Builds between two releases have the same version. */
TEST(tables_of_another_build_are_eproto)
{
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	sqlite3_exec(db, "DROP TABLE carried", NULL, NULL, NULL);
	assert_int_equal(open_it(), -EPROTO);
	sqlite3_exec(db,
		     "UPDATE meta SET value = 'recording' WHERE key = 'state';"
		     "DELETE FROM meta WHERE key = 'recorder'",
		     NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(open_it(), -EPROTO);
}

TEST(cut_off_file_is_einval)
{
	struct stat st;

	make_trace();
	stat(path, &st);
	for (off_t size = st.st_size - 1; size > 0; size -= 4096) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(open_it(), -EINVAL);
	}
}

/* Any byte may be wrong: never a crash, and either an error or a readable trace. */
TEST(damaged_pages_do_no_harm)
{
	unsigned char bytes[1 << 18], saved[1 << 18];
	ssize_t n;
	int fd;

	make_trace();
	fd = open(path, O_RDONLY);
	n = read(fd, saved, sizeof(saved));
	close(fd);
	srand(1);
	for (int round = 0; round < 300; round++) {
		const struct trace_event *e;
		struct cursor *cursor;
		struct trace *trace;

		memcpy(bytes, saved, (size_t)n);
		for (int i = 0; i < 40; i++)
			bytes[100 + rand() % (n - 100)] = (unsigned char)rand();
		write_file(bytes, (size_t)n);
		if (trace_open(path, &trace))
			continue;
		if (!cursor_open(trace, NULL, &cursor)) {
			while (cursor_next(cursor, &e) > 0)
				;
			cursor_close(cursor);
		}
		trace_close(trace);
	}
}

/* A recorder in another process; its pid. It waits, or dies by @signal_to_self. */
static pid_t start_recorder(int signal_to_self)
{
	int fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		struct make_world world;
		struct maker m;
		struct writer *w = begin_trace(&m, &world);

		make_call(&m, VERB_destroy_qp, 0, 0, MAKE_ARGS(MAKE_PTR(&world.qp)));
		writer_flush(w);
		/* this is lost when we die */
		make_post(&m, VERB_post_recv, &world.qp, 99, 0, 0);
		unlink(m.path);
		if (write(fds[1], "x", 1) != 1 || signal_to_self)
			raise(signal_to_self);
		pause();
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

TEST(trace_of_a_living_recorder_is_ebusy)
{
	pid_t pid;

	pid = start_recorder(0);
	assert_int_equal(open_it(), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(open_it(), 0);
}

TEST(killed_recorder_leaves_what_it_committed)
{
	const struct trace_event *e;
	struct cursor *cursor;
	struct trace *trace;
	int posts = 0, calls = 0, returns = 0, unfinished = 0;

	waitpid(start_recorder(SIGKILL), NULL, 0);
	assert_true(file_exists("-wal"));
	assert_int_equal(trace_open(path, &trace), 0);
	assert_true(trace_loss(trace).interrupted);
	assert_string_equal(trace_meta(trace, "state"), "interrupted");
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &e) > 0) {
		posts += e->kind == TRACE_POST;
		calls += e->kind == TRACE_CALL;
		returns += e->kind == TRACE_RETURN;
		if (e->kind == TRACE_POST) {
			assert_int_not_equal(e->post->object, 0); /* objects were made */
			assert_int_equal(e->post->verb, VERB_post_send);
		}
		if (e->kind == TRACE_CALL && e->call->end < 0) {
			unfinished++;
			assert_int_equal(e->call->verb, VERB_destroy_qp);
			assert_int_not_equal(e->call->object, 0);
		}
	}
	assert_int_equal(posts, 20);
	assert_int_equal(unfinished, 1);
	assert_int_equal(calls, returns + 1);
	cursor_close(cursor);
	trace_close(trace);
	assert_false(file_exists("-wal"));
	assert_int_equal(open_it(), 0); /* opened again, as a complete trace */
}

TEST(recorder_killed_at_once_leaves_an_empty_trace)
{
	pid_t pid;

	pid = fork();
	if (!pid) {
		make_writer(path);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(open_it(), 0);
}

static int create_writer(const char *at)
{
	struct writer_info info = { .clock = &make_clock, .command = "app", .device = "" };
	struct writer *w = (void *)-1;
	int err = writer_create(at, &info, &w);

	if (err)
		assert_ptr_equal(w, (void *)-1);
	else
		assert_int_equal(writer_finish(w), 0);
	return err;
}

/*
 * A trace of a recorder that died: each process was forked from the first, and has a module and a
 * stack.
 */
static const char many_processes[] =
	"UPDATE meta SET value = 'recording' WHERE key = 'state';"
	"DELETE FROM meta WHERE key = 'recorder';"
	"CREATE TEMP TABLE number(i); WITH RECURSIVE n(i) AS (VALUES(2) UNION ALL"
	" SELECT i + 1 FROM n"
	"  WHERE i < 20000) INSERT INTO number SELECT i FROM n;"
	"INSERT INTO process(id, pid, forked_from, fork_seq, start, end)"
	" SELECT i, 1000 + i, 100, i, i, i"
	"  FROM number;"
	"INSERT INTO fork(thread, n, process, time, fork_seq, how)"
	" SELECT 1, 1000 + i, 1, i, i, 'fork'"
	"  FROM number;"
	"INSERT INTO thread(id, process, end) SELECT i, i, 2 * i FROM number;"
	"INSERT INTO module(process, base, start, end, path, serial, time)"
	"  SELECT i, 4096, 4096, 8192, 'app', 1, 0 FROM number;"
	"INSERT INTO stack SELECT 100000 + i, i, 1, 1 FROM number;"
	"INSERT INTO frame(stack, i, ip) SELECT 100000 + i, 0, 5000 FROM number;";

/* Each is found without a search through all others: this took minutes. */
TEST(many_processes_are_completed)
{
	struct trace *trace;
	struct frame frame;
	sqlite3 *db;

	make_trace();
	sqlite3_open(path, &db);
	assert_int_equal(sqlite3_exec(db, many_processes, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_process(trace, 20000)->parent, 1);
	assert_int_equal(trace_process(trace, 20000)->fork.n, 21000);
	assert_int_equal(trace_process(trace, 20000)->end, 40000);
	assert_int_equal(trace_stack(trace, 120000, &frame, 1), 1);
	assert_string_equal(frame.module, "app");
	assert_int_equal(frame.offset, 904);
	trace_close(trace);
}

/* A limit on the file's size acts like a full disk. */
TEST(full_disk_is_reported_once_and_never_looks_whole)
{
	struct writer_progress *done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *said = tmpfile();
	int status, lines = 0;
	pid_t pid;

	assert_ptr_not_equal(done, MAP_FAILED);
	pid = fork();
	if (!pid) {
		struct rlimit limit = { 300 << 10, 300 << 10 };
		struct make_world world;
		struct maker m;
		struct writer *w;
		int err;

		make_calls_plain = UINT32_MAX; /* blocks would be too small */
		w = begin_trace(&m, &world);
		err = writer_flush(w);

		dup2(fileno(said), STDERR_FILENO);
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		for (int i = 0; i < 20000 && !err; i++) {
			make_modify(&m, &world, IBV_QPS_RTS);
			if (i % 100 == 0)
				err = writer_flush(w);
		}
		unlink(m.path);
		if (!err || !writer_stop(w, 0))
			_exit(2);
		*done = writer_progress(w);
		if (!writer_finish(w))
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	rewind(said);
	for (int c; (c = getc(said)) != EOF;)
		lines += c == '\n';
	assert_int_equal(lines, 1);
	fclose(said);
	{
		struct trace *trace;

		assert_int_equal(trace_open(path, &trace), 0);
		assert_true(trace_loss(trace).interrupted);
		assert_int_equal(trace_events(trace), done->events);
		assert_int_equal(trace_loss(trace).unwritten, done->lost);
		assert_true(done->events > 0 && done->lost > 0);
		trace_close(trace);
	}
	munmap(done, sizeof(*done));
}

TEST(removed_trace_has_no_events)
{
	struct make_world world;
	struct maker m;
	struct writer *w = begin_trace(&m, &world);

	assert_int_equal(writer_flush(w), 0);
	assert_true(writer_progress(w).events > 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(writer_flush(w), -ENODATA);
	assert_int_equal(writer_stop(w, 0), -ENODATA);
	assert_int_equal(writer_progress(w).events, 0);
	assert_int_equal(writer_finish(w), -ENODATA);
}

/* Like an import that cannot continue: the trace is not complete. */
TEST(trace_that_was_given_up_is_interrupted)
{
	struct make_world world;
	struct maker m;
	struct writer *w = begin_trace(&m, &world);
	struct trace *trace;

	assert_int_equal(writer_flush(w), 0);
	writer_stop(w, -EIO);
	assert_int_equal(writer_finish(w), -EIO);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_true(trace_loss(trace).interrupted);
	trace_close(trace);
}

/* The program that the trace at the path records. */
static void assert_command(const char *command)
{
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_string_equal(trace_meta(trace, "command"), command);
	trace_close(trace);
	assert_false(file_exists(".before"));
}

TEST(trace_in_the_way_is_replaced)
{
	assert_int_equal(create_writer(path), 0);
	assert_command("app");
	make_trace();
	assert_command("app --flag");
}

TEST(trace_without_events_replaces_none)
{
	make_trace();
	assert_int_equal(create_writer(path), 0);
	assert_command("app --flag");
}

TEST(trace_that_was_dropped_leaves_the_one_of_before)
{
	struct make_world world;
	struct maker m;

	assert_int_equal(create_writer(path), 0);
	writer_drop(begin_trace(&m, &world), path);
	assert_command("app");
}

TEST(anything_else_in_the_way_is_refused)
{
	char link[300];

	write_file("precious", 8);
	assert_int_equal(create_writer(path), -EEXIST);
	assert_true(file_exists(""));
	assert_int_equal(create_writer("/tmp"), -EEXIST);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(create_writer(link), -ELOOP);
	unlink(link);
	assert_int_equal(create_writer("/no/such/directory/t.db"), -ENOENT);
}

TEST(trace_being_recorded_is_not_replaced)
{
	pid_t pid;

	pid = start_recorder(0);
	assert_int_equal(create_writer(path), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int write_row(void)
{
	sqlite3 *db;
	int err;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	err = sqlite3_exec(db, "INSERT INTO meta VALUES('other', 1)", NULL, NULL, NULL);
	sqlite3_close(db);
	return err;
}

TEST(open_trace_does_not_change)
{
	struct trace *trace;

	make_trace();
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(write_row(), SQLITE_BUSY);
	trace_close(trace);
	assert_int_equal(write_row(), SQLITE_OK);
}

TEST(unlocked_trace_may_change)
{
	struct trace *trace;

	make_trace();
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_unlock(trace), 0);
	assert_int_equal(write_row(), SQLITE_OK);
	trace_close(trace);
}

TEST(stacks_know_their_modules)
{
	struct frame frames[8];
	struct make_world world;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_module(&m, 0x400000, 0x401000, 0x401fff, "/usr/bin/app");
	make_world(&m, &world, 17);
	make_modify(&m, &world, IBV_QPS_RTS);
	make_modify(&m, &world, IBV_QPS_ERR);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_stack(trace, 1, frames, 8), 2);
	assert_string_equal(frames[0].module, "/usr/bin/app");
	assert_string_equal(frames[0].build_id, "deadbeef");
	assert_int_equal(frames[0].offset, frames[0].ip - 0x400000);
	assert_null(frames[1].module);
	assert_int_equal(trace_stack(trace, 1, frames, 1), 1);
	assert_int_equal(trace_stack(trace, 999, frames, 8), 0);
	/* both modify calls came from one place: 7 stacks for 8 calls */
	assert_int_equal(trace_stack(trace, 7, frames, 8), 2);
	assert_int_equal(trace_stack(trace, 8, frames, 8), 0);
	trace_close(trace);
}

TEST(loss_is_reported)
{
	struct make_world world;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	w = begin_trace(&m, &world);
	ring_drop(&m.in, 5000);
	ring_drop(&m.in, 6000);
	m.in.head->in_handlers = 1;
	make_end(&m);
	assert_int_equal(writer_progress(w).lost, 2);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_loss(trace).events, 2);
	assert_int_equal(trace_loss(trace).handlers, 1);
	trace_close(trace);
}

TEST(copy_is_whole_and_what_was_forgotten_is_reported)
{
	char copy[300], beside[FILE_BESIDE];
	struct make_world world;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	snprintf(copy, sizeof(copy), "%s.copy", path);
	w = begin_trace(&m, &world);
	assert_int_equal(writer_flush(w), 0);
	assert_int_equal(writer_forget(w, UINT64_MAX), 0);
	assert_int_equal(writer_copy(w, copy, beside), 0);
	assert_int_equal(writer_complete_copy(beside, copy, "why"), 0);
	assert_int_equal(trace_open(copy, &trace), 0);
	assert_int_equal(trace_loss(trace).events, 0);
	assert_false(trace_loss(trace).interrupted);
	assert_string_equal(trace_meta(trace, "snapshot"), "why");
	trace_close(trace);
	unlink(copy);

	assert_int_equal(writer_cut(w, 0), 0);
	assert_int_equal(writer_forget(w, 0), 0);
	make_post(&m, VERB_post_send, &world.qp, 99, IBV_WR_SEND, IBV_SEND_SIGNALED);
	make_end(&m);
	assert_int_equal(writer_progress(w).overwritten, 20);
	assert_int_equal(writer_progress(w).lost, 0);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_loss(trace).events, 20);
	assert_int_equal(trace_loss(trace).overwritten, 20);
	assert_null(trace_meta(trace, "snapshot"));
	trace_close(trace);
}

/* Millions of objects take long: what comes meanwhile is written, and is not in the copy. */
TEST(writer_goes_on_while_a_copy_is_completed)
{
	char copy[300], beside[FILE_BESIDE];
	struct make_world world;
	struct trace *trace;
	struct writer *w;
	struct maker m;
	uint64_t events;

	snprintf(copy, sizeof(copy), "%s.copy", path);
	w = begin_trace(&m, &world);
	assert_int_equal(writer_flush(w), 0);
	events = writer_progress(w).events;
	assert_int_equal(writer_copy(w, copy, beside), 0);
	make_post(&m, VERB_post_send, &world.qp, 99, IBV_WR_SEND, IBV_SEND_SIGNALED);
	assert_int_equal(writer_complete_copy(beside, copy, "why"), 0);
	assert_int_equal(writer_progress(w).events, events + 1);
	assert_int_equal(trace_open(copy, &trace), 0);
	assert_int_equal(trace_totals(trace).events, events);
	trace_close(trace);
	unlink(copy);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
}

TEST(copy_that_is_in_the_way_is_refused)
{
	struct make_world world;
	char beside[FILE_BESIDE];
	struct writer *w;
	struct maker m;

	w = begin_trace(&m, &world);
	assert_int_equal(writer_copy(w, "/tmp", beside), -EEXIST);
	assert_int_equal(writer_error(w), 0);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
}

TEST(damage_of_a_ring_is_reported)
{
	struct make_world world;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	w = begin_trace(&m, &world);
	assert_int_equal(writer_note_damage(w, m.thread, 4096, 3), 0);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(trace_loss(trace).damaged, 3);
	trace_close(trace);
}

/* Random bodies are refused or accepted, and the trace is complete in both cases. */
TEST(any_event_bodies_do_no_harm)
{
	struct make_world world;
	struct writer *w;
	struct maker m;
	int refused = 0;

	w = begin_trace(&m, &world);
	srand(1);
	for (int i = 0; i < 30000; i++) {
		_Alignas(8) unsigned char bytes[512];
		struct event_head *head = (void *)bytes;

		for (size_t b = 0; b < sizeof(bytes); b++)
			bytes[b] = rand() % 3 ? (unsigned char)(rand() % 4) : (unsigned char)rand();
		head->type = (uint8_t)(1 + rand() % (EVENT_TYPES - 1));
		head->words = (uint16_t)(2 + rand() % 62);
		head->seq = m.in.seq + 1u + (unsigned int)i;
		head->ticks = make_now++;
		refused += writer_add_event(w, m.thread, head) == -EBADMSG;
	}
	assert_true(refused > 1000);
	assert_true(refused < 30000);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	{
		const struct trace_event *e;
		struct cursor *cursor;
		struct trace *trace;
		int more;

		assert_int_equal(trace_open(path, &trace), 0);
		assert_true(trace_loss(trace).damaged);
		assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
		while ((more = cursor_next(cursor, &e)) > 0)
			;
		assert_int_equal(more, 0);
		cursor_close(cursor);
		trace_close(trace);
	}
}
