/*
 * verbatim import: a trace of what an LTTng session has recorded
 *
 * 	CTF -> ctf.c -> threads, their events in the order of their numbers -> writer
 *
 * A tracepoint contains the event as it was in its ring, so that the writer gets what the collector
 * would have passed. All times are converted to CLOCK_MONOTONIC, whatever clock the ring used.
 *
 * LTTng drops events if its buffer is full, and the streams of processors may be ahead of each
 * other. So an event that comes too early is held until the events before it have come, or until
 * HELD events are held; then the missing events count as lost.
 *
 * All this is done in a child (confined.h): untrusted CTF can make babeltrace2 abort, divide by
 * zero, or allocate all memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/confined.h"
#include "cli/cli.h"
#include "cli/import/ctf.h"
#include "core/base/vec.h"
#include "core/store/db/file.h"
#include "core/store/write/writer.h"
#include "core/wire/desc.h"
#include "core/wire/event.h"
#include "core/wire/log.h"
#include "core/wire/ring.h"

enum {
	HELD = 256,
	GIGABYTES = 2,
	SECONDS = 8, /* of processor time from one message of the reader to the next */
};

/* A thread, identified by pid, tid and since. */
struct thread_log {
	struct ring_head head; /* the fields that are known so far */
	uint32_t thread;       /* of the trace */
	uint32_t index;        /* index of the ring in its process */
	uint32_t seq;          /* of the last event passed to the writer */
	uint64_t last;         /* time of the last event */
	uint64_t lost, lost_first, lost_last;
	bool begun, ended;        /* by thread_begin, thread_end */
	struct event_head **held; /* in the order of their numbers */
	unsigned int nheld;
};

struct import {
	const char *path, *dir;
	bool *made; /* set if the import created the file at @path; the parent process reads it */
	struct writer *writer;
	struct thread_log **logs;
	size_t nlogs;
	struct thread_log *found; /* the last time */
	uint64_t start;
	uint64_t events, discarded, lost, late, damaged;
	unsigned int processes, late_threads;
	bool command_known, soft_known;
};

/* clang-format off */
const struct option_row cli_import_options[] = {
	{ "output", 'o', "FILE", "the trace to write",
	  TEXT_AT(struct import, path), .preset = "verbatim.db" },
	{ 0 },
};
/* clang-format on */

static int create_trace(struct import *import, const struct ctf_event *event)
{
	struct clock clock = { 0 };
	struct writer_info info = {
		.clock = &clock, .command = "", .device = "", .elsewhere = true
	};
	int err;

	clock_init_monotonic(&clock);
	clock.realtime += (event->start ? event->start : event->time) - clock.start;
	clock.start = clock.monotonic = event->start ? event->start : event->time;
	if (event->realtime)
		clock.realtime = event->realtime;
	import->start = clock.start;
	err = writer_create(import->path, &info, &import->writer);
	*import->made = !err;
	return err;
}

static struct thread_log *find_log(struct import *import, const struct ctf_event *event)
{
	for (size_t i = import->nlogs; i > 0; i--) {
		struct thread_log *log = import->logs[i - 1];

		if (log->head.pid == event->pid && log->head.tid == event->tid &&
		    log->head.ticks == event->since)
			return log;
	}
	return NULL;
}

static int new_log(struct import *import, const struct ctf_event *event,
		   struct thread_log **ret_log)
{
	struct thread_log *log = calloc(1, sizeof(*log));
	struct thread_log **place = log ? vec_push(import->logs, import->nlogs) : NULL;

	if (!place) {
		free(log);
		return log_err(-ENOMEM, "add a thread");
	}
	*place = log;
	log->begun = !strcmp(event->name, "thread_begin");
	if (event->words == sizeof(log->head) / 8 && log->begun)
		memcpy(&log->head, event->raw, sizeof(log->head));
	log->index = log->head.index;
	log->head.pid = event->pid;
	log->head.tid = event->tid;
	log->head.ticks = event->since;
	log->head.index =
		(uint32_t)import->nlogs; /* unique in the trace, not only in its process */
	log->last = event->since;
	*ret_log = log;
	return writer_begin_thread(import->writer, &log->head, &log->thread);
}

static int find_or_make_log(struct import *import, const struct ctf_event *event,
			    struct thread_log **ret_log)
{
	struct thread_log *log = import->found;
	int err = 0;

	if (!log || log->head.pid != event->pid || log->head.tid != event->tid ||
	    log->head.ticks != event->since)
		log = find_log(import, event);
	if (!log)
		err = new_log(import, event, &log);
	import->found = log;
	*ret_log = log;
	return err;
}

/* Find the ring of a counter, which is identified by its index in the process. */
static void name_ring(struct import *import, const struct thread_log *log,
		      struct event_count *count)
{
	for (size_t i = import->nlogs; i > 0; i--) {
		const struct thread_log *other = import->logs[i - 1];

		if (other->head.pid == log->head.pid && other->index == count->ring &&
		    other->head.ticks <= count->head.ticks) {
			count->ring = other->head.index;
			return;
		}
	}
}

/* The recorded command is the command line of the first process. */
static int describe_command(struct import *import, const struct event_process *event)
{
	size_t room = event->head.words * 8u - sizeof(*event);
	char text[UINT16_MAX + 1];
	size_t n = event->cmd_bytes;

	if (import->command_known || event->exe_bytes + n > room)
		return 0;
	import->command_known = true;
	memcpy(text, (const char *)(event + 1) + event->exe_bytes, n);
	while (n && !text[n - 1])
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	return writer_describe(import->writer, text, NULL);
}

/* Note the device: a process that has loaded the software device used no other. */
static int describe_device(struct import *import, const struct event_module *event)
{
	size_t room = event->head.words * 8u - sizeof(*event);
	char path[4096];

	if (import->soft_known || event->path_bytes > room)
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)event->path_bytes, (const char *)(event + 1));
	if (!strstr(path, "/libverbatim-soft.so") && !strstr(path, "/dropin/libibverbs.so"))
		return 0;
	import->soft_known = true;
	return writer_describe(import->writer, NULL, "soft");
}

static int describe_trace(struct import *import, struct event_head *event)
{
	if (event->type == EVENT_PROCESS && event->words * 8u >= sizeof(struct event_process))
		return describe_command(import, (const void *)event);
	if (event->type == EVENT_MODULE && event->words * 8u >= sizeof(struct event_module))
		return describe_device(import, (const void *)event);
	return 0;
}

static int write_to_writer(struct import *import, struct thread_log *log, struct event_head *event)
{
	int err;

	if (event->type == EVENT_COUNT && event->words * 8u >= sizeof(struct event_count))
		name_ring(import, log, (struct event_count *)event);
	err = describe_trace(import, event);
	if (!err)
		err = writer_add_event(import->writer, log->thread, event);
	log->seq = event->seq;
	log->last = event->ticks;
	import->events++;
	if (err != -EBADMSG)
		return err;
	import->damaged++; /* noted in the trace */
	return 0;
}

/* Was the session started after the thread? Then LTTng did not lose the earlier events. */
static bool began_late(const struct thread_log *log)
{
	return !log->seq && !log->begun;
}

static void count_lost(struct import *import, struct thread_log *log, uint64_t n, uint64_t until)
{
	if (!log->lost)
		log->lost_first = log->last;
	log->lost += n;
	log->lost_last = until;
	import->lost += n;
}

/* Pass the held events to the writer, up to the first gap; @gap: skip that gap. */
static int write_held(struct import *import, struct thread_log *log, bool gap)
{
	unsigned int n = 0;
	int err = 0;

	for (; n < log->nheld && !err; n++) {
		struct event_head *event = log->held[n];
		uint32_t missing = event->seq - log->seq - 1;

		if (missing && !gap)
			break;
		if (missing && began_late(log)) {
			import->late += missing;
			import->late_threads++;
			err = writer_note_late_thread(import->writer, log->thread, missing);
		} else if (missing) {
			count_lost(import, log, missing, event->ticks);
		}
		gap = false;
		if (!err)
			err = write_to_writer(import, log, event);
		free(event);
	}
	log->nheld -= n;
	if (log->nheld)
		memmove(log->held, log->held + n, log->nheld * sizeof(*log->held));
	return err;
}

static int hold_event(struct import *import, struct thread_log *log, const struct event_head *event)
{
	struct event_head *copy = malloc(event->words * 8u);
	unsigned int at = log->nheld;

	if (!log->held)
		log->held = calloc(HELD, sizeof(*log->held));
	if (!copy || !log->held) {
		free(copy);
		return log_err(-ENOMEM, "store an event");
	}
	memcpy(copy, event, event->words * 8u);
	for (; at && (int32_t)(log->held[at - 1]->seq - event->seq) > 0; at--)
		log->held[at] = log->held[at - 1];
	log->held[at] = copy;
	log->nheld++;
	return log->nheld == HELD ? write_held(import, log, true) : 0;
}

static int order_event(struct import *import, struct thread_log *log, struct event_head *event)
{
	int32_t ahead = (int32_t)(event->seq - log->seq);
	int err;

	if (ahead <= 0)
		return 0; /* a duplicate, or already counted as lost */
	if (ahead > 1)
		return hold_event(import, log, event);
	err = write_to_writer(import, log, event);
	return err ? err : write_held(import, log, false);
}

/* Read the ring's head at the end of the thread: only it has the counts of polls. */
static void read_ring_end(struct thread_log *log, const struct ctf_event *event)
{
	const struct ring_head kept = log->head;

	if (event->words != sizeof(kept) / 8)
		return;
	memcpy(&log->head, event->raw, sizeof(log->head));
	log->head.pid = kept.pid;
	log->head.tid = kept.tid;
	log->head.ticks = kept.ticks;
	log->head.index = kept.index;
	log->ended = true;
}

/* The event is not trusted: its two lengths must agree, and so must its two numbers. */
static bool is_whole(const struct ctf_event *event)
{
	const struct event_head *head = (const void *)event->raw;

	return event->words >= sizeof(*head) / 8 && event->words <= RING_EVENT_MAX / 8 &&
	       head->words == event->words && head->seq == event->seq && head->seq && head->type &&
	       head->type < EVENT_TYPES;
}

/* Refuse events of another version; if earlier ones were of this version, the trace has several. */
static int refuse_version(const struct import *import)
{
	if (import->writer) {
		log_note("the CTF is truncated or damaged: it has more than one version");
		return -EBADMSG;
	}
	log_note("recorded by another version of verbatim: import it with that version");
	return -EPROTO;
}

static int on_event(void *arg, const struct ctf_event *event)
{
	struct import *import = arg;
	struct event_head *head = (void *)(uintptr_t)event->raw; /* the reader's copy */
	struct thread_log *log;
	int err = 0;

	if (!event->raw)
		return 0; /* wr, wc: parts of another event */
	if (event->fingerprint && event->fingerprint != verbs_fingerprint)
		return refuse_version(import);
	if (!import->writer)
		err = create_trace(import, event);
	if (!err)
		err = find_or_make_log(import, event, &log);
	if (err || event->fingerprint) {
		if (!err && !strcmp(event->name, "thread_end"))
			read_ring_end(log, event);
		return err;
	}
	if (!is_whole(event)) {
		import->damaged++;
		return writer_note_damage(import->writer, log->thread, event->words * 8, 1);
	}
	head->ticks = event->time;
	if (head->type == EVENT_PROCESS && event->words * 8 >= sizeof(struct event_process))
		((struct event_process *)head)->fork_ticks = event->fork_time;
	return order_event(import, log, head);
}

static int on_discarded(void *arg, uint64_t events)
{
	((struct import *)arg)->discarded += events;
	return 0;
}

/* Count the events lost after the last one, if thread_end contains the total. */
static void count_lost_rest(struct import *import, struct thread_log *log)
{
	uint64_t last = atomic_load_explicit(&log->head.tapped, memory_order_relaxed);

	if (log->ended && (uint32_t)last > log->seq)
		count_lost(import, log, (uint32_t)last - log->seq,
			   log->head.closed ? log->head.closed : log->last);
}

static int end_log(struct import *import, struct thread_log *log)
{
	int err = write_held(import, log, true);

	while (!err && log->nheld)
		err = write_held(import, log, true);
	if (err)
		return err;
	count_lost_rest(import, log);
	if (log->lost) {
		if (!log->head.dropped)
			log->head.drop_first = log->lost_first;
		log->head.drop_last = log->lost_last;
		log->head.dropped += log->lost;
	}
	return writer_end_thread(import->writer, log->thread, &log->head);
}

/* End each process once, at the last event of its last thread. */
static int end_process(struct import *import, size_t log)
{
	uint32_t pid = import->logs[log]->head.pid;
	uint64_t last = 0;

	for (size_t i = 0; i < import->nlogs; i++) {
		const struct thread_log *other = import->logs[i];

		if (other->head.pid != pid)
			continue;
		if (i > log)
			return 0;
		last = other->last > last ? other->last : last;
	}
	import->processes++;
	return writer_end_process(import->writer, (int)pid, (int64_t)(last - import->start), -1);
}

/* Report events that LTTng has discarded and that no thread is known to miss. */
static int report_discarded(struct import *import)
{
	bool all_ended = true;

	for (size_t i = 0; i < import->nlogs; i++)
		all_ended = all_ended && import->logs[i]->ended;
	if (all_ended || import->discarded <= import->lost)
		return 0;
	return writer_note_discarded(import->writer, import->discarded - import->lost);
}

static int finish_import(struct import *import, int err)
{
	int cut = err == -EBADMSG ? err : 0;
	int end_err = err == cut ? 0 : err;

	for (size_t i = 0; i < import->nlogs && !end_err; i++)
		end_err = end_log(import, import->logs[i]);
	for (size_t i = 0; i < import->nlogs && !end_err; i++)
		end_err = end_process(import, i);
	if (!end_err)
		end_err = report_discarded(import);
	if (!end_err && cut)
		end_err = writer_note_damage(import->writer, import->logs[0]->thread, 0, 1);
	writer_stop(import->writer, end_err);
	err = writer_finish(import->writer);
	return end_err ? end_err : err ? err : cut;
}

static void free_logs(struct import *import)
{
	for (size_t i = 0; i < import->nlogs; i++) {
		for (unsigned int k = 0; k < import->logs[i]->nheld; k++)
			free(import->logs[i]->held[k]);
		free(import->logs[i]->held);
		free(import->logs[i]);
	}
	free(import->logs);
}

static void send_result(const struct import *import, bool quiet)
{
	if (import->discarded)
		log_note("LTTng has LOST events: %llu events of the recorder are missing, %llu "
			 "tracepoints were discarded; create a larger channel with 'lttng "
			 "enable-channel -u --subbuf-size=4M --num-subbuf=8'",
			 (unsigned long long)import->lost, (unsigned long long)import->discarded);
	else if (import->lost)
		log_note("%llu events are missing (LOST): some tracepoints of 'verbatim:*' were "
			 "disabled, at least for a time",
			 (unsigned long long)import->lost);
	if (import->late)
		log_note("the session BEGAN LATE: %u threads had recorded %llu events before; the "
			 "program, its modules and its earlier objects are unknown. Start the "
			 "session before the program",
			 import->late_threads, (unsigned long long)import->late);
	if (import->damaged)
		log_note("%llu events are DAMAGED: they are not in %s",
			 (unsigned long long)import->damaged, import->path);
	if (!quiet)
		log_info("%llu events of %u processes in %s", (unsigned long long)import->events,
			 import->processes, import->path);
}

static int import_from(struct import *import)
{
	const struct ctf_visitor visitor = { on_event, on_discarded, import };
	int err = ctf_read(import->dir, &visitor);

	if (!import->writer && !err) {
		log_note("%s has no events of verbatim: enable them with \"lttng enable-event -u "
			 "'verbatim:*'\" before the program starts",
			 import->dir);
		return -EPROTO;
	}
	if (!import->writer)
		return err;
	confined_disable_timer();
	err = finish_import(import, err);
	if (!err || err == -EBADMSG)
		send_result(import, err);
	return !err && import->damaged ? -EBADMSG : err;
}

static int import_in_process(void *arg)
{
	struct import *import = arg;
	int err = import_from(import);

	free_logs(import);
	return cli_status(err);
}

/* babeltrace2 crashed or did not end: remove the file with the events imported so far. */
static int report_end(const struct import *import, int signal)
{
	if (*import->made)
		file_restore_before(import->path);
	if (signal == SIGXCPU)
		log_note("%s is damaged: babeltrace2 does not finish reading it; nothing was "
			 "imported",
			 import->dir);
	else
		log_note("%s is damaged, or needs more than %d GB of memory: babeltrace2 was "
			 "killed by signal %d (%s); nothing was imported",
			 import->dir, GIGABYTES, signal, strsignal(signal));
	return CLI_TRACE;
}

static int import_in_child(struct import *import)
{
	const struct confined_limits limits = { (uint64_t)GIGABYTES << 30, SECONDS };
	int signal, status;

	import->made = confined_share(sizeof(*import->made));
	if (!import->made)
		return cli_status(log_err(-ENOMEM, "import %s", import->dir));
	status = confined_run(import_in_process, import, &limits, &signal);
	if (status < 0 && !signal)
		return cli_status(log_err(status, "start a process to read %s", import->dir));
	return signal ? report_end(import, signal) : status;
}

int cli_import(int argc, char **argv)
{
	struct import import = { 0 };
	struct arguments arguments;
	int err;

	cli_parse(argc, argv, &import, &arguments);
	if (!arguments.n)
		return cli_misuse("import", "no CTF directory given");
	if (arguments.n > 1)
		return cli_refuse_argument("import", arguments.at[1]);
	import.dir = arguments.at[0];
	err = cli_find_file(import.dir);
	if (err)
		return cli_status(err);
	cli_show_work("import");
	return import_in_child(&import);
}
