/*
 * Processes, their images and their forks
 *
 * A ring has only the pid of its process. A second EVENT_PROCESS from a pid starts a new process of
 * the trace: the program was replaced by exec, or the pid was reused. Rings of that pid that
 * arrived in the meantime belong to the new image; earlier rings have ended with the old image.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/vec.h"
#include "core/store/write/writer_priv.h"
#include "core/store/db/secret.h"
#include "core/wire/variable.h"

int processes_new(struct writer *writer, int pid, int64_t start, uint32_t *ret_process)
{
	struct known_process **place = vec_push(writer->processes, writer->nprocesses);
	struct known_process *p = place ? calloc(1, sizeof(*p)) : NULL;
	uint32_t id = (uint32_t)writer->nprocesses;

	if (!p)
		return writer_fail(writer, -ENOMEM);
	*p = (struct known_process){ .id = id, .pid = pid };
	*place = p;
	*ret_process = id;
	return WRITER_RUN(writer, process, "uddi", id, pid, 0, start);
}

struct known_process *processes_of_pid(struct writer *writer, int pid)
{
	for (size_t i = writer->nprocesses; i > 0; i--)
		if (writer->processes[i - 1] && writer->processes[i - 1]->pid == pid)
			return writer->processes[i - 1];
	return NULL;
}

/* The old image of a process ends at @time; the rings from @log on belong to a new process. */
static int new_image(struct writer *writer, struct thread_log *log, int64_t time)
{
	uint32_t old = log->process, id;
	struct known_process *before = writer->processes[old - 1];
	int err;

	before->over = true;
	before->over_at = time;
	if (before->ending && strcmp(before->ending, "exec") != 0)
		err = WRITER_RUN(writer, process_end, "uidt", old, time, before->status,
				 before->ending); /* the pid was reused */
	else
		err = WRITER_RUN(writer, process_end, "uidt", old,
				 before->ending ? before->ends : time, -1, "exec");
	if (err || processes_new(writer, log->pid, time, &id))
		return writer->err;
	for (size_t i = log->id - 1; i < writer->nlogs; i++) {
		char sql[512];

		if (!writer->logs[i] || writer->logs[i]->process != old)
			continue;
		writer->logs[i]->process = id;
		before->logs--;
		writer->processes[id - 1]->logs++;
		snprintf(sql, sizeof(sql),
			 "UPDATE thread SET process = %u WHERE id = %zu;"
			 "UPDATE main.call SET process = %u WHERE thread = %zu;"
			 "UPDATE fork SET process = %u WHERE thread = %zu;"
			 "UPDATE event SET process = %u WHERE thread = %zu;"
			 "UPDATE memory SET process = %u WHERE thread = %zu;"
			 "UPDATE waited SET process = %u WHERE thread = %zu;"
			 "UPDATE mark SET process = %u WHERE thread = %zu",
			 id, i + 1, id, i + 1, id, i + 1, id, i + 1, id, i + 1, id, i + 1, id,
			 i + 1);
		if (writer_fail(writer, sql_exec(writer->db, sql)))
			return writer->err;
	}
	return 0;
}

/* Write argv, whose words end with NUL, as words separated by spaces, without passwords. */
static void join_words(struct writer *writer, const char *words, size_t n, struct text *to)
{
	struct secret_line line = { 0 };

	while (n && !words[n - 1])
		n--;
	for (size_t at = 0; at < n;) {
		size_t length = strnlen(words + at, n - at);

		if (at)
			text_char(to, ' ');
		if (writer->passwords)
			text_add(to, words + at, length);
		else
			secret_add_word(&line, words + at, length, to);
		at += length + 1;
	}
}

/*
 * The path of a program or a library, @n bytes, in the form that is written; NULL: out of memory.
 */
static char *copy_path(struct writer *writer, const char *path, size_t n)
{
	char *whole = strndup(path, n);
	char *copy = whole ? strdup(writer_redact_text(writer, WRITER_PATH, whole)) : NULL;

	free(whole);
	return copy;
}

/* Store the limits of a process; "unlimited" is stored as -1. */
static int add_limits(struct writer *writer, uint32_t process, const struct event_process *event)
{
	if (!event->page_size)
		return 0;
	return WRITER_RUN(writer, process_limits, "uiiiidu", process, event->memlock,
			  event->memlock_most, event->nofile, event->nofile_most,
			  (int)event->ipc_lock, event->page_size);
}

/*
 * Store variables. @at: @n bytes of strings "NAME=value", each with its '\0'. A guest sends only
 * variables that may be recorded, but a guest of another version may have had no list.
 */
static int add_environ(struct writer *writer, uint32_t process, const char *at, size_t n)
{
	const char *end = at + n, *equals, *stop;

	for (; at < end && !writer->err; at = stop + 1) {
		char name[64];

		stop = memchr(at, '\0', (size_t)(end - at));
		if (!stop)
			break;
		equals = strchr(at, '=');
		if (!equals || equals == at || equals - at >= (ptrdiff_t)sizeof(name))
			continue;
		memcpy(name, at, (size_t)(equals - at));
		name[equals - at] = '\0';
		if (!variable_is_recorded(name, (size_t)(equals - at), equals + 1))
			continue;
		WRITER_RUN(writer, environ, "utt", process, name,
			   writer_redact_text(writer, WRITER_VARIABLE, equals + 1));
	}
	return writer->err;
}

/* Note the parent of a process: the parent's objects are needed as long as the process is alive. */
static int note_parent(struct writer *writer, struct known_process *p,
		       const struct event_process *event)
{
	struct known_process *parent = NULL;

	for (uint32_t id = p->id - 1; id && !parent; id--)
		if (writer->processes[id - 1] &&
		    writer->processes[id - 1]->pid == (int)event->forked_from)
			parent = writer->processes[id - 1];
	if (!parent)
		return 0;
	p->parent = parent->id;
	p->fork_seq = event->fork_seq;
	parent->children++;
	return writer->needed
		       ? writer_fail(writer, needed_note_fork(writer->needed, p->id, parent->id))
		       : 0;
}

int processes_note_process(struct writer *writer, struct thread_log *log,
			   const struct event_process *event, uint64_t n, int64_t time)
{
	const char *tail = (const char *)(event + 1);
	size_t bytes = event->head.words * 8u;
	struct known_process *p;
	struct text command = { 0 };
	char *exe;

	if (bytes < sizeof(*event) ||
	    (size_t)event->exe_bytes + event->cmd_bytes + event->environ_bytes >
		    bytes - sizeof(*event))
		return -EBADMSG;
	p = writer->processes[log->process - 1];
	if (p->described && new_image(writer, log, time))
		return writer->err;
	p = writer->processes[log->process - 1];
	p->described = true;
	if (event->forked_from && note_parent(writer, p, event))
		return writer->err;
	exe = copy_path(writer, tail, event->exe_bytes);
	join_words(writer, tail + event->exe_bytes, event->cmd_bytes, &command);
	if (!exe || command.failed)
		writer_fail(writer, -ENOMEM);
	else
		WRITER_RUN(writer, process_is, "uuttuizuii", p->id, event->ppid, exe,
			   writer_redact_text(writer, WRITER_COMMAND, command.at ? command.at : ""),
			   log->id, n, (int64_t)event->forked_from, event->fork_seq,
			   event->forked_from ? writer_time(writer, event->fork_ticks, time) : time,
			   time);
	free(exe);
	text_fini(&command);
	if (!writer->err && !add_limits(writer, p->id, event))
		add_environ(writer, p->id, tail + event->exe_bytes + event->cmd_bytes,
			    event->environ_bytes);
	return writer->err;
}

/* Note the files of the process that are no longer mapped, since a new file has their addresses. */
static int note_covered(struct writer *writer, uint32_t process, const struct event_module *event)
{
	sqlite3_stmt *stmt = writer_statement(writer, STATEMENT_covered);
	int err;

	sql_bind(stmt, "uiii", process, event->end, event->start,
		 sqlite3_last_insert_rowid(writer->db));
	while ((err = sql_step(stmt)) > 0) {
		struct old_module *old = vec_push(writer->old_modules, writer->nold_modules);

		if (!old) {
			err = -ENOMEM;
			break;
		}
		*old = (struct old_module){ sqlite3_column_int64(stmt, 0), process, event->serial,
					    (uint64_t)sqlite3_column_int64(stmt, 1),
					    (uint64_t)sqlite3_column_int64(stmt, 2) };
	}
	sqlite3_reset(stmt);
	return writer_fail(writer, err);
}

int processes_note_module(struct writer *writer, struct thread_log *log,
			  const struct event_module *event, int64_t time)
{
	size_t bytes = event->head.words * 8u;
	const char *tail = (const char *)(event + 1);
	char path[4096], id[129];
	unsigned int n;

	if (bytes < sizeof(*event) ||
	    (size_t)event->path_bytes + event->build_id_bytes > bytes - sizeof(*event))
		return -EBADMSG;
	snprintf(path, sizeof(path), "%.*s", (int)event->path_bytes, tail);
	n = event->build_id_bytes < 64 ? event->build_id_bytes : 64;
	id[0] = '\0';
	for (unsigned int i = 0; i < n; i++)
		snprintf(id + 2 * i, 3, "%02x", (unsigned char)tail[event->path_bytes + i]);
	if (WRITER_RUN(writer, module, "uiiittui", log->process, event->base, event->start,
		       event->end, writer_redact_text(writer, WRITER_PATH, path), n ? id : NULL,
		       event->serial, time))
		return writer->err;
	return writer->needed ? note_covered(writer, log->process, event) : 0;
}

static const char *const hows[FORK_HOWS] = {
	[FORK_FORK] = "fork",     [FORK_VFORK] = "vfork", [FORK_POSIX_SPAWN] = "posix_spawn",
	[FORK_SYSTEM] = "system", [FORK_POPEN] = "popen", [FORK_CLONE] = "clone",
	[FORK_EXEC] = "exec",
};

/* Write "HANDLE:DESCRIPTOR ..." into @text; NULL: there is none. */
static const char *list_staying(const struct event_fork *event, char *text, size_t size)
{
	const struct event_descriptor *at =
		(const void *)((const uint64_t *)(event + 1) + event->nframes);
	size_t used = 0;

	for (uint32_t i = 0; i < event->ndescriptors; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 ":%d",
					 used ? " " : "", at[i].object, at[i].fd);
	return used ? text : NULL;
}

int processes_note_fork(struct writer *writer, struct thread_log *log,
			const struct event_fork *event, uint64_t n, int64_t time)
{
	size_t bytes = event->head.words * 8u;
	struct known_process *p = writer->processes[log->process - 1];
	char staying[EVENT_FORK_DESCRIPTORS * 36];
	uint32_t stack;

	if (bytes < sizeof(*event) || event->nframes > (bytes - sizeof(*event)) / 8 ||
	    event->how >= FORK_HOWS || event->ndescriptors > EVENT_FORK_DESCRIPTORS ||
	    event->ndescriptors * sizeof(struct event_descriptor) >
		    bytes - sizeof(*event) - event->nframes * 8u)
		return -EBADMSG;
	if (stacks_find_or_add(writer, log->process, event->modules, (const void *)(event + 1),
			       event->nframes, &stack))
		return writer->err;
	log->fork_seq = event->fork_seq;
	log->fork_n = n;
	if (event->how == FORK_EXEC) {
		p->ending = hows[FORK_EXEC];
		p->ends = time;
	}
	return WRITER_RUN(writer, fork, "uiuiuztt", log->id, n, log->process, time, event->fork_seq,
			  (int64_t)stack, hows[event->how],
			  list_staying(event, staying, sizeof(staying)));
}

int processes_note_memory(struct writer *writer, struct thread_log *log,
			  const struct event_memory *event, uint64_t n, int64_t time)
{
	static const char *const whats[MEMORY_WHATS] = {
		[MEMORY_MUNMAP] = "munmap",   [MEMORY_MMAP] = "mmap", [MEMORY_MREMAP] = "mremap",
		[MEMORY_MADVISE] = "madvise", [MEMORY_FREE] = "free", [MEMORY_REALLOC] = "realloc",
		[MEMORY_HUGE] = "huge",
	};
	size_t bytes = event->head.words * 8u;
	uint32_t stack;

	if (bytes < sizeof(*event) || event->nframes > (bytes - sizeof(*event)) / 8 ||
	    event->what >= MEMORY_WHATS)
		return -EBADMSG;
	if (stacks_find_or_add(writer, log->process, event->modules, (const void *)(event + 1),
			       event->nframes, &stack))
		return writer->err;
	return WRITER_RUN(writer, memory, "uiuitiiz", log->id, n, log->process, time,
			  whats[event->what], event->addr, event->length, (int64_t)stack);
}

int processes_note_spawned(struct writer *writer, struct thread_log *log,
			   const struct event_spawned *event)
{
	struct known_process *p = writer->processes[log->process - 1];

	if (event->head.words * 8u < sizeof(*event))
		return -EBADMSG;
	/*
	 * a failed exec was announced as an end, but the process continues; other errors are
	 * irrelevant
	 */
	if (event->error && p->ending == hows[FORK_EXEC])
		p->ending = NULL;
	if (event->fork_seq != log->fork_seq)
		return 0; /* a signal handler has created another process in between */
	return WRITER_RUN(writer, spawned, "uidd", log->id, log->fork_n, event->pid, event->error);
}

int processes_note_exit(struct writer *writer, struct thread_log *log,
			const struct event_exit *event, int64_t time)
{
	static const char *const endings[EXIT_HOWS] = { "exit", "_exit" };
	struct known_process *p = writer->processes[log->process - 1];

	if (event->head.words * 8u < sizeof(*event) || event->how >= EXIT_HOWS)
		return -EBADMSG;
	p->ending = endings[event->how];
	p->status = (event->status & 0xff) << 8;
	/*
	 * the death of a process in another PID namespace is not visible: only this event reports
	 * it
	 */
	return WRITER_RUN(writer, process_end, "uidt", p->id, time, p->status, p->ending);
}

/* Have all events of the process arrived? The event that reports its exit may be lost. */
static bool has_all_events(const struct writer *writer, const struct known_process *p)
{
	for (size_t i = 0; i < writer->nlogs; i++)
		if (writer->logs[i] && writer->logs[i]->process == p->id &&
		    (writer->logs[i]->lost || writer->logs[i]->damaged))
			return false;
	return true;
}

int processes_end(struct writer *writer, struct known_process *p, int64_t time, int status)
{
	const char *ending = p->ending;

	p->over = true;
	p->over_at = time;
	if (ending == hows[FORK_EXEC])
		time = p->ends;
	else if (status != -1)
		ending = WIFSIGNALED(status) ? "killed" : ending ? ending : "exit";
	else if (ending)
		status = p->status;
	else if (has_all_events(writer, p))
		ending = "killed";
	if (ending && !strcmp(ending, "killed"))
		alarms_note_crash(writer, p->id, status > 0 ? WTERMSIG(status) : 0, time);
	return WRITER_RUN(writer, process_end, "uidt", p->id, time, status, ending);
}
