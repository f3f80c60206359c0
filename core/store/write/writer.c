/*
 * Writing a trace
 *
 * Events of the data plane go into the thread's batch, and a full batch becomes a row of table
 * `chunk`; other events go straight into their tables. A transaction lasts from one flush to the
 * next. While it is being written, the file is in WAL mode, locked by this process, and table meta
 * has the state "recording" and its pid. A reader that finds this state but no lock knows that the
 * recorder died, and completes the trace (complete.c) as writer_finish() does.
 *
 * Not here: the end of a trace, and losses after a failure (writer_end.c), threads (thread_log.c),
 * control verbs (calls.c), processes (processes.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/db/blank.h"
#include "core/store/db/file.h"
#include "core/store/db/finding.h"
#include "core/store/write/outstanding.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"

enum {
	COMMIT_BYTES = 16 << 20,
	/* pages of the write-ahead log after which they are moved into the file */
	LOG_PAGES = 1024,
	LOG_PART = 8,       /* the log may be 1/LOG_PART of a file with a size limit */
	DAMAGE_ROWS = 1000, /* maximum rows of a thread's damage in `coverage` */
};

static int write_tables(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return log_err(-errno, "open %s", path);
	err = blank_write(fd);
	close(fd);
	return err ? log_err(err, "write %s", path) : 0;
}

/* Limit the write-ahead log: if the file has a limit @most, in proportion to it. */
static int begin_log(struct writer *writer, uint64_t most)
{
	uint64_t pages = most / LOG_PART / 4096;
	char sql[256];

	pages = !most || pages > LOG_PAGES ? LOG_PAGES : pages;
	snprintf(
		sql, sizeof(sql),
		"PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
		"PRAGMA wal_autocheckpoint=%" PRIu64 "; BEGIN",
		pages);
	return sql_exec(writer->db, sql);
}

/*
 * Table meta is written before WAL mode begins, so that it is in the file itself from the start.
 * Everything is synced to the disk once: SQLite would do it eight times.
 */
static int begin_file(struct writer *writer, const char *path, const struct writer_info *info)
{
	int err = sql_exec(writer->db, "PRAGMA synchronous=OFF");

	if (!err)
		err = sql_exec(writer->db, "BEGIN");
	if (!err)
		err = writer_describe_run(writer, info);
	if (!err)
		err = sql_exec(writer->db, "COMMIT");
	if (!err)
		err = begin_log(writer, info->most);
	if (err)
		return err;
	err = file_sync(path);
	return err ? log_err(err, "write %s", path) : 0;
}

void writer_free(struct writer *writer)
{
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(writer->statements[i]);
	for (size_t i = 0; i < writer->nlogs; i++)
		thread_log_free(writer->logs[i]);
	free(writer->logs);
	for (size_t i = 0; i < writer->nprocesses; i++)
		free(writer->processes[i]);
	free(writer->processes);
	free(writer->counts);
	free(writer->directs);
	stacks_fini(writer);
	writer_free_cuts(writer);
	packer_fini(&writer->packer);
	calls_free_all(writer);
	text_fini(&writer->args);
	text_fini(&writer->out);
	text_fini(&writer->redacted);
	sqlite3_close(writer->db);
	if (writer->file >= 0)
		close(writer->file);
	free(writer);
}

int writer_create(const char *path, const struct writer_info *info, struct writer **ret_writer)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return log_err(-ENOMEM, "make %s", path);
	writer->file = -1;
	err = file_set_aside(path);
	if (err < 0) {
		writer_free(writer);
		return err;
	}
	writer->before = err;
	err = file_create_replacing(path);
	if (err)
		goto fail;
	writer->clock = *info->clock;
	writer->horizon = info->elsewhere ? INT64_MAX : 0;
	writer->live = info->live;
	writer->redact = info->redact;
	writer->passwords = info->passwords;
	writer->payload_seed = info->payload.seed;
	writer->most = info->most;
	writer->calls_plain = info->calls_plain ? info->calls_plain : CALLS_PLAIN;
	writer->file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	err = writer->file < 0 ? log_err(-errno, "open %s", path) : 0;
	if (!err)
		err = write_tables(path);
	if (!err)
		err = sql_open(path, SQLITE_OPEN_READWRITE, &writer->db);
	if (!err)
		err = forget_init(writer, info->cuts);
	if (!err)
		err = begin_file(writer, path, info);
	/* if only a sample of posts and polls is recorded, outstanding requests are not known */
	if (!err && info->cuts && !(info->filter && *info->filter) && info->one_of <= 1)
		err = outstanding_new(&writer->outstanding);
	if (err)
		goto fail;
	*ret_writer = writer;
	return 0;

fail:
	writer_free(writer);
	file_restore_before(path);
	return err;
}

int writer_describe(struct writer *writer, const char *command, const char *device)
{
	if (command && !writer->err)
		writer_fail(writer,
			    schema_set_meta(writer->db, "command",
					    writer_redact_text(writer, WRITER_COMMAND, command)));
	if (device && !writer->err)
		writer_fail(writer, schema_set_meta(writer->db, "device", device));
	return writer->err;
}

/* Drop the previous trace: a live recording cannot be repeated, and may need the space. */
static void forget_before(struct writer *writer)
{
	if (writer->before)
		file_forget_before(sqlite3_db_filename(writer->db, "main"));
	writer->before = false;
}

static int note_log_pages(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct writer *writer = arg;

	(void)db;
	(void)name;
	writer->log_pages = pages;
	return SQLITE_OK;
}

void writer_on_commit(struct writer *writer, void (*before)(void *arg), void *arg)
{
	writer->before_commit = before;
	writer->commit_arg = arg;
	/* with checkpoint_log() this replaces SQLite's own checkpoints */
	sqlite3_wal_hook(writer->db, before ? note_log_pages : NULL, writer);
	if (!before)
		sqlite3_wal_autocheckpoint(writer->db, LOG_PAGES);
}

uint64_t writer_count_commits(const struct writer *writer)
{
	return writer->commits;
}

/*
 * Move the log into the file. The next transaction then overwrites the log, which a child that
 * before_commit has forked earlier still reads. So before_commit must fork a new child first.
 */
static int checkpoint_log(struct writer *writer)
{
	if (!writer->before_commit || writer->log_pages < LOG_PAGES)
		return 0;
	writer->log_pages = 0;
	if (sql_exec(writer->db, "PRAGMA wal_checkpoint(PASSIVE)"))
		return -EIO;
	writer->before_commit(writer->commit_arg);
	return 0;
}

/* Commit. All events are in the tables, except posts whose last event has not arrived. */
static int commit_transaction(struct writer *writer)
{
	writer->chunk_bytes = 0;
	if (writer_check_file(writer))
		return writer->err;
	if (writer->before_commit)
		writer->before_commit(writer->commit_arg);
	if (writer_fail(writer, sql_exec(writer->db, "COMMIT") ?: checkpoint_log(writer) ?:
					sql_exec(writer->db, "BEGIN")))
		return writer->err;
	writer->commits++;
	writer->committed = writer->events - thread_logs_open(writer);
	writer->committed_overwritten = writer->overwritten;
	if (writer->live && writer->committed)
		forget_before(writer);
	return 0;
}

static int write_poll_event(struct writer *writer, struct thread_log *log,
			    const struct event_head *event, uint64_t n, int64_t time)
{
	const struct event_poll *poll = (const void *)event;
	const struct event_stack *stack;
	uint32_t number = 0;
	uint64_t empty;

	if (!event_poll_fits(poll, event->words * 8u))
		return -EBADMSG;
	stack = event_poll_stack(poll, event->words * 8u);
	alarms_note_poll(writer, log, poll, n, time);
	if (polls_count_event(writer, log, poll, time, &empty) ||
	    (stack && stacks_find_or_add(writer, log->process, stack->modules,
					 (const void *)(stack + 1), stack->nframes, &number)))
		return writer->err;
	if (writer->outstanding && writer_note_outstanding_poll(writer, log, poll, n, time, number))
		return writer->err;
	return batch_poll(log->batch, poll, n, time, empty, number);
}

static int write_notify_event(struct writer *writer, struct thread_log *log,
			      const struct event_notify *event, uint64_t n, int64_t time)
{
	int err = batch_notify(log->batch, event, n, time);

	return err || !writer->outstanding
		       ? err
		       : writer_note_outstanding_arming(writer, log, event, n, time);
}

enum { SANDBOX_TEXT = 400 };

/*
 * Describe the operations that the recorder cannot do in a program, since its seccomp filter
 * forbids them.
 */
static const char *describe_sandbox(uint32_t denied, char text[SANDBOX_TEXT])
{
	static const struct {
		uint32_t needs;
		const char *what;
	} losses[] = {
		{ NEED_STACK | NEED_QUIET, "no call stacks" },
		{ NEED_ROOM | NEED_QUIET, "rings do not grow" },
		{ NEED_PAUSE, "a thread whose ring is full does not sleep" },
		{ NEED_RING | NEED_QUIET, "threads and children that come later are not recorded" },
		{ NEED_MEMORY, "batches of ibv_wr_* and payload may be missing" },
		{ NEED_PATCH | NEED_LOAD, "verbs of libraries loaded later may be missing" },
		{ NEED_DEVICE, "devices opened later are not described" },
		{ NEED_STOP, "--stop-on does not stop it" },
	};
	size_t used;

	used = (size_t)snprintf(text, SANDBOX_TEXT, "its filter of system calls:");
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (denied & losses[i].needs)
			used += (size_t)snprintf(text + used, SANDBOX_TEXT - used, "%s %s",
						 text[used - 1] == ':' ? "" : ";", losses[i].what);
	return text;
}

static int write_blind_event(struct writer *writer, struct thread_log *log,
			     const struct event_head *event, uint64_t n, int64_t time)
{
	static const char *const names[BLIND_KINDS] = {
		[BLIND_EXTENDED_QP] = "extended-qp",
		[BLIND_EXTENDED_CQ] = "extended-cq",
		[BLIND_WQ] = "wq",
		[BLIND_DM] = "dm",
		[BLIND_PROVIDERS] = "providers",
		[BLIND_THREAD] = "thread",
		[BLIND_VFORK] = "vfork",
		[BLIND_MODULES] = "modules",
		[BLIND_SITES] = "sites",
		[BLIND_IMPORTS] = "imports",
		[BLIND_SANDBOX] = "sandbox",
		[BLIND_BEFORE] = "before",
		[BLIND_JUMP] = "jump",
	};
	const struct event_blind *blind = (const void *)event;
	char detail[SANDBOX_TEXT];

	if (event->words * 8u < sizeof(*blind) || blind->what >= BLIND_KINDS)
		return -EBADMSG;
	if (blind->what == BLIND_SANDBOX)
		return writer_cover(writer, log, n, time, names[blind->what], 0,
				    describe_sandbox((uint32_t)blind->object, detail));
	return writer_cover(writer, log, n, time, names[blind->what], blind->object,
			    blind->what == BLIND_JUMP ? "a signal handler jumped out of a verb "
							"whose event was being written"
						      : NULL);
}

static int write_mark_event(struct writer *writer, struct thread_log *log,
			    const struct event_head *event, uint64_t n, int64_t time)
{
	static const char *const kinds[MARK_KINDS] = {
		[MARK_POINT] = "point",
		[MARK_BEGIN] = "begin",
		[MARK_END] = "end",
		[MARK_FAULT] = "fault",
	};
	const struct event_mark *mark = (const void *)event;
	char text[UINT16_MAX + 1];

	if (event->words * 8u < sizeof(*mark) || mark->kind >= MARK_KINDS ||
	    mark->bytes > event->words * 8u - sizeof(*mark))
		return -EBADMSG;
	memcpy(text, mark + 1, mark->bytes);
	text[mark->bytes] = '\0';
	return WRITER_RUN(writer, mark, "uiuitt", log->id, n, log->process, time, kinds[mark->kind],
			  text);
}

static int write_rare_event(struct writer *writer, struct thread_log *log,
			    const struct event_head *event, uint64_t n, int64_t time)
{
	const void *body = event;

	switch (event->type) {
	case EVENT_PROCESS:
		return processes_note_process(writer, log, body, n, time);
	case EVENT_MODULE:
		return processes_note_module(writer, log, body, time);
	case EVENT_FORK:
		return processes_note_fork(writer, log, body, n, time);
	case EVENT_THREAD:
		return event->words * 8u < sizeof(struct event_thread) ? -EBADMSG : 0;
	case EVENT_SPAWNED:
		return processes_note_spawned(writer, log, body);
	case EVENT_EXIT:
		return processes_note_exit(writer, log, body, time);
	case EVENT_CALL:
		return calls_note_begin(writer, log, body, n, time);
	case EVENT_RETURN:
		return calls_note_end(writer, log, body, n, time);
	case EVENT_NOTIFY:
		return write_notify_event(writer, log, body, n, time);
	case EVENT_COUNT:
		return polls_note_destroyed(writer, body, event->words * 8u);
	case EVENT_BLIND:
		return write_blind_event(writer, log, event, n, time);
	case EVENT_SITE:
		return stacks_note_site(writer, log, body);
	case EVENT_MARK:
		return write_mark_event(writer, log, event, n, time);
	case EVENT_MEMORY:
		return processes_note_memory(writer, log, body, n, time);
	case EVENT_WAITED:
		return thread_log_note_wait(writer, log, body, n, time);
	case EVENT_MISUSE:
		return writer_note_misuse(writer, log, body, n, time);
	case EVENT_DIRECT:
		return direct_add_call(writer, log, body, n, time);
	default:
		return -EBADMSG;
	}
}

static int write_post_event(struct writer *writer, struct thread_log *log,
			    const struct event_post *event, uint64_t n, int64_t time)
{
	const struct batch *batch = log->batch;
	struct cut_part part = { n, time, 0, 0 };
	int err;

	if (event->head.words * 8u >= sizeof(*event))
		part.stack = stacks_of_site(writer, log, event->site);
	if (batch->open && batch->open_handle == event->object)
		part = (struct cut_part){ batch->open_n, batch->open_time, batch->open_nwr,
					  batch->open_stack };
	alarms_note_post(writer, log, event, part.n, time);
	err = batch_post(log->batch, event, n, time, part.stack);
	return err || !writer->outstanding
		       ? err
		       : writer_note_outstanding_post(writer, log, event, &part);
}

static int write_log_event(struct writer *writer, struct thread_log *log,
			   const struct event_head *event, uint64_t n, int64_t time)
{
	if (event->type == EVENT_PAYLOAD)
		return payloads_process_event(writer, log, event, n, time);
	if (event->type == EVENT_POST) {
		int err = log->payloads.waiting && !log->batch->open
				  ? payloads_process_event(writer, log, event, n, time)
				  : 0;

		return err ? err : write_post_event(writer, log, (const void *)event, n, time);
	}
	/* this event may come between two events of a post: the thread waited for the recorder */
	if (log->batch->open && event->type != EVENT_WAITED) {
		batch_close(log->batch);
		writer_cover(writer, log, log->batch->last_n, time, "cut", 0, "the rest of a post");
	}
	if (event->type == EVENT_POLL)
		return write_poll_event(writer, log, event, n, time);
	return write_rare_event(writer, log, event, n, time);
}

/*
 * Count damage, and note it in `coverage`; after DAMAGE_ROWS rows, the last row counts all further
 * damage.
 */
static int report_damage(struct writer *writer, struct thread_log *log, uint64_t n, int64_t time,
			 uint64_t times, const char *detail)
{
	writer->damaged += times;
	log->damaged += times;
	if (log->damage_rows == DAMAGE_ROWS) {
		log->damage_times += times;
	} else {
		if (writer_cover(writer, log, n, time, "damaged", 0, detail))
			return writer->err;
		log->damage_rows++;
		log->damage_row = sqlite3_last_insert_rowid(writer->db);
		log->damage_times = times;
	}
	return WRITER_RUN(writer, coverage_times, "ii", log->damage_row, log->damage_times);
}

/* Count an event that is too short or has impossible values. */
static int count_damaged(struct writer *writer, struct thread_log *log, uint64_t n, int64_t time,
			 int type)
{
	static const char *const names[EVENT_TYPES] = {
		[EVENT_PROCESS] = "process", [EVENT_MODULE] = "module", [EVENT_FORK] = "fork",
		[EVENT_CALL] = "call",       [EVENT_RETURN] = "return", [EVENT_POST] = "post",
		[EVENT_POLL] = "poll",       [EVENT_NOTIFY] = "notify", [EVENT_COUNT] = "count",
		[EVENT_BLIND] = "blind",     [EVENT_MARK] = "mark",     [EVENT_SPAWNED] = "spawned",
		[EVENT_EXIT] = "exit",       [EVENT_THREAD] = "thread", [EVENT_PAYLOAD] = "payload",
		[EVENT_SITE] = "site",       [EVENT_DIRECT] = "direct", [EVENT_MEMORY] = "memory",
		[EVENT_WAITED] = "waited",   [EVENT_MISUSE] = "misuse",
	};
	char detail[64];

	snprintf(detail, sizeof(detail), "an event cannot be read (%s)",
		 type < EVENT_TYPES && names[type] ? names[type] : "of no known type");
	report_damage(writer, log, n, time, 1, detail);
	return writer->err ? writer->err : -EBADMSG;
}

int writer_add_event(struct writer *writer, uint32_t thread, const struct event_head *event)
{
	struct thread_log *log = writer->logs[thread - 1];
	int64_t time = clock_ns(&writer->clock, event->ticks);
	uint64_t n = log->n + (uint32_t)(event->seq - log->base - (uint32_t)log->n);
	bool timely = writer_is_timely(writer, time) && !(event->ticks >> 63);
	int err;

	if (writer->err)
		return writer->err;
	/*
	 * the clock is read without a barrier, so a time may be earlier than the one before; the
	 * order of numbers is right
	 */
	if (time < log->last || !timely)
		time = log->last > INT64_MIN ? log->last : log->start;
	log->last = writer->time = time;
	log->n = n;
	if (!log->first_ticks)
		log->first_ticks = event->ticks;
	writer->events++;
	if (!timely)
		report_damage(writer, log, n, time, 1, "the time of an event cannot be read");
	err = write_log_event(writer, log, event, n, time);
	if (batch_full(log->batch) && !thread_log_flush(writer, log) &&
	    writer->chunk_bytes > COMMIT_BYTES)
		writer_flush(writer);
	if (err == -EBADMSG)
		return count_damaged(writer, log, n, time, event->type);
	return writer->err;
}

int writer_next_thread(struct writer *writer, uint32_t *thread, const struct ring_head *head,
		       const struct event_head *event)
{
	const struct event_thread *next = (const void *)event;
	struct ring_head before = { 0 }, after = { .index = head->index, .pid = head->pid };
	struct ring_polls *polls = (void *)(uintptr_t)(next + 1);

	if (event->words * 8u < sizeof(*next) || next->npolls > RING_POLLS ||
	    next->npolls * sizeof(*polls) > event->words * 8u - sizeof(*next) ||
	    (next->dropped | next->in_handlers | next->uncounted | next->filtered) >> 48)
		return writer_add_event(writer, *thread, event); /* counts it as damaged */
	before.dropped = next->dropped;
	before.drop_first = next->drop_first;
	before.drop_last = next->drop_last;
	before.in_handlers = next->in_handlers;
	before.uncounted = next->uncounted;
	before.filtered = next->filtered;
	before.ended = next->ended;
	before.ticks = head->ticks;
	memcpy(before.polls, polls, next->npolls * sizeof(*polls));
	after.tid = next->tid;
	after.ticks = event->ticks;
	memcpy(after.comm, next->comm, sizeof(after.comm));
	if (writer_end_thread(writer, *thread, &before) ||
	    writer_begin_thread(writer, &after, thread))
		return writer->err;
	writer->logs[*thread - 1]->base = event->seq - 1;
	return writer_add_event(writer, *thread, event);
}

int writer_note_damage(struct writer *writer, uint32_t thread, uint64_t bytes, uint64_t events)
{
	struct thread_log *log = writer->logs[thread - 1];
	char detail[96];

	snprintf(detail, sizeof(detail), "%" PRIu64 " bytes of the ring cannot be read", bytes);
	return report_damage(writer, log, log->n + 1,
			     log->last > INT64_MIN ? log->last : log->start, events, detail);
}

int writer_note_ringless(struct writer *writer, uint32_t threads)
{
	static const struct thread_log none;
	char detail[64];

	snprintf(detail, sizeof(detail), "%u threads could not create a ring", threads);
	return writer_cover(writer, &none, 0, 0, "thread", 0, detail);
}

int writer_note_withheld(struct writer *writer, const struct writer_note_withheld *withheld)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "ring_budget", withheld->budget },
		{ "withheld_rings", withheld->rings },
		{ "withheld_threads", withheld->threads },
		{ "waits_given_up", withheld->waits },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !writer->err; i++)
		if (numbers[i].value)
			writer_fail(writer, schema_set_meta_int(writer->db, numbers[i].key,
								(int64_t)numbers[i].value));
	return writer->err;
}

int writer_note_session_gone(struct writer *writer, int64_t time)
{
	static const struct thread_log none;

	return writer_cover(writer, &none, 0, time, "session", 0, "its directory was removed");
}

int writer_note_discarded(struct writer *writer, uint64_t events)
{
	writer->lost += events;
	writer->discarded += events;
	return writer_store_gone(writer);
}

int writer_end_process(struct writer *writer, int pid, int64_t time, int status)
{
	struct known_process *process = processes_of_pid(writer, pid);

	if (writer->err || !process)
		return writer->err;
	if (writer->outstanding)
		outstanding_end_process(writer->outstanding, process->id);
	return processes_end(writer, process, time, status);
}

int writer_store(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs && !writer->err; i++)
		if (writer->logs[i] && !writer->logs[i]->ended)
			thread_log_store(writer, writer->logs[i]);
	direct_flush(writer);
	if (!writer->err)
		writer_fail(writer, schema_set_meta_int(writer->db, "duration", writer->last));
	if (!writer->err)
		writer_fail(writer,
			    schema_set_meta_int(writer->db, "damaged", (int64_t)writer->damaged));
	return writer->err;
}

int writer_flush(struct writer *writer)
{
	if (writer->err)
		return writer->err;
	return writer_store(writer) ? writer->err : commit_transaction(writer);
}

int writer_error(const struct writer *writer)
{
	return writer->err;
}

int writer_store_logs(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs && !writer->err; i++) {
		struct thread_log *log = writer->logs[i];

		if (log && !log->ended && log->n != log->settled)
			thread_log_store(writer, log);
	}
	return writer->err;
}

int64_t writer_last_stored(const struct writer *writer, uint32_t thread)
{
	return writer->logs[thread - 1]->last;
}

int writer_store_finding(struct writer *writer, const struct stored_finding *finding)
{
	return writer_fail(writer,
			   finding_insert(writer_statement(writer, STATEMENT_finding), finding));
}

struct sqlite3 *writer_db(struct writer *writer)
{
	return writer->db;
}

struct writer_alarms writer_alarms(const struct writer *writer)
{
	return writer->alarms;
}

void writer_on_alarm(struct writer *writer,
		     void (*each)(void *arg, const struct writer_alarm *alarm), void *arg)
{
	writer->on_alarm = each;
	writer->alarm_arg = arg;
}
