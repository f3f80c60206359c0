/*
 * verbatim import: a trace of what an LTTng session has recorded
 *
 *	CTF -> ctf.c -> threads, their events in the order of their numbers -> writer
 *
 * A tracepoint carries the event as it lay in its ring, so that the writer
 * gets what the collector would have given it. All times are CLOCK_MONOTONIC
 * here, whatever clock the ring had.
 *
 * LTTng drops what finds no room, and the stream of another processor may be
 * ahead: an event that comes too early is held until those before it have
 * come, or HELD of them wait; then what is missing is lost.
 *
 * All this is done in a child (apart.h): CTF by strangers makes babeltrace2
 * abort, divide by zero, and ask for all memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/apart.h"
#include "cli/cli.h"
#include "cli/import/ctf.h"
#include "core/store/db/file.h"
#include "core/store/write/writer.h"
#include "core/wire/desc.h"
#include "core/wire/log.h"

enum {
	HELD = 256,
	GIGABYTES = 2,
	SECONDS = 8, /* of processor time from one message of the reader to the next */
};

/* A thread: pid, tid and since name it. */
struct lane {
	struct ring_head head; /* as far as known */
	uint32_t thread;       /* of the trace */
	uint32_t index;        /* of its ring, in its process */
	uint32_t seq;          /* of the last event given to the writer */
	uint64_t last;         /* its time */
	uint64_t lost, lost_first, lost_last;
	bool begun, ended;        /* it was said so */
	struct event_head **held; /* in the order of their numbers */
	unsigned int nheld;
};

struct import {
	const char *path, *dir;
	bool quiet;
	bool *made; /* the file at @path is ours; the parent sees it */
	struct writer *writer;
	struct lane **lanes;
	size_t nlanes;
	struct lane *found; /* the last time */
	uint64_t start;
	uint64_t events, discarded, lost, late, damaged;
	unsigned int processes, late_threads;
	bool command_known, soft_known;
};

/* clang-format off */
const struct option_row cli_import_options[] = {
	{ "output", 'o', "FILE", "the trace to make",
	  TEXT_AT(struct import, path), .preset = "verbatim.db" },
	{ "quiet", 'q', NULL, "print nothing but failures and loss", FLAG_AT(struct import, quiet) },
	{ 0 },
};
/* clang-format on */

static int create(struct import *import, const struct ctf_event *event)
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

static struct lane *find_lane(struct import *import, const struct ctf_event *event)
{
	for (size_t i = import->nlanes; i > 0; i--) {
		struct lane *lane = import->lanes[i - 1];

		if (lane->head.pid == event->pid && lane->head.tid == event->tid &&
		    lane->head.ticks == event->since)
			return lane;
	}
	return NULL;
}

static int new_lane(struct import *import, const struct ctf_event *event, struct lane **ret_lane)
{
	struct lane **more = realloc(import->lanes, (import->nlanes + 1) * sizeof(*more));
	struct lane *lane = calloc(1, sizeof(*lane));

	if (more)
		import->lanes = more;
	if (!more || !lane) {
		free(lane);
		return log_err(-ENOMEM, "take a thread");
	}
	import->lanes[import->nlanes++] = lane;
	lane->begun = !strcmp(event->name, "thread_begin");
	if (event->words == sizeof(lane->head) / 8 && lane->begun)
		memcpy(&lane->head, event->raw, sizeof(lane->head));
	lane->index = lane->head.index;
	lane->head.pid = event->pid;
	lane->head.tid = event->tid;
	lane->head.ticks = event->since;
	lane->head.index = (uint32_t)import->nlanes; /* that of a process alone says nothing */
	lane->last = event->since;
	*ret_lane = lane;
	return writer_thread(import->writer, &lane->head, &lane->thread);
}

static int take_lane(struct import *import, const struct ctf_event *event, struct lane **ret_lane)
{
	struct lane *lane = import->found;
	int err = 0;

	if (!lane || lane->head.pid != event->pid || lane->head.tid != event->tid ||
	    lane->head.ticks != event->since)
		lane = find_lane(import, event);
	if (!lane)
		err = new_lane(import, event, &lane);
	import->found = lane;
	*ret_lane = lane;
	return err;
}

/* A counter's ring is named by its index in its process. */
static void name_ring(struct import *import, const struct lane *lane, struct event_count *count)
{
	for (size_t i = import->nlanes; i > 0; i--) {
		const struct lane *other = import->lanes[i - 1];

		if (other->head.pid == lane->head.pid && other->index == count->ring &&
		    other->head.ticks <= count->head.ticks) {
			count->ring = other->head.index;
			return;
		}
	}
}

/* The first process's command line is what was recorded. */
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

/* A process with the software device in it had nothing else. */
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

static int describe(struct import *import, struct event_head *event)
{
	if (event->type == EVENT_PROCESS && event->words * 8u >= sizeof(struct event_process))
		return describe_command(import, (const void *)event);
	if (event->type == EVENT_MODULE && event->words * 8u >= sizeof(struct event_module))
		return describe_device(import, (const void *)event);
	return 0;
}

static int give(struct import *import, struct lane *lane, struct event_head *event)
{
	int err;

	if (event->type == EVENT_COUNT && event->words * 8u >= sizeof(struct event_count))
		name_ring(import, lane, (struct event_count *)event);
	err = describe(import, event);
	if (!err)
		err = writer_event(import->writer, lane->thread, event);
	lane->seq = event->seq;
	lane->last = event->ticks;
	import->events++;
	if (err != -EBADMSG)
		return err;
	import->damaged++; /* noted in the trace */
	return 0;
}

/* The session was started after the thread: what came before is not LTTng's fault. */
static bool began_late(const struct lane *lane)
{
	return !lane->seq && !lane->begun;
}

static void lose(struct import *import, struct lane *lane, uint64_t n, uint64_t until)
{
	if (!lane->lost)
		lane->lost_first = lane->last;
	lane->lost += n;
	lane->lost_last = until;
	import->lost += n;
}

/* Give what is held: all that goes on without a gap; with @gap from the first on, whatever is missing. */
static int give_held(struct import *import, struct lane *lane, bool gap)
{
	unsigned int n = 0;
	int err = 0;

	for (; n < lane->nheld && !err; n++) {
		struct event_head *event = lane->held[n];
		uint32_t missing = event->seq - lane->seq - 1;

		if (missing && !gap)
			break;
		if (missing && began_late(lane)) {
			import->late += missing;
			import->late_threads++;
			err = writer_began_late(import->writer, lane->thread, missing);
		} else if (missing) {
			lose(import, lane, missing, event->ticks);
		}
		gap = false;
		if (!err)
			err = give(import, lane, event);
		free(event);
	}
	lane->nheld -= n;
	if (lane->nheld)
		memmove(lane->held, lane->held + n, lane->nheld * sizeof(*lane->held));
	return err;
}

static int hold(struct import *import, struct lane *lane, const struct event_head *event)
{
	struct event_head *copy = malloc(event->words * 8u);
	unsigned int at = lane->nheld;

	if (!lane->held)
		lane->held = calloc(HELD, sizeof(*lane->held));
	if (!copy || !lane->held) {
		free(copy);
		return log_err(-ENOMEM, "hold an event");
	}
	memcpy(copy, event, event->words * 8u);
	for (; at && (int32_t)(lane->held[at - 1]->seq - event->seq) > 0; at--)
		lane->held[at] = lane->held[at - 1];
	lane->held[at] = copy;
	lane->nheld++;
	return lane->nheld == HELD ? give_held(import, lane, true) : 0;
}

static int take_event(struct import *import, struct lane *lane, struct event_head *event)
{
	int32_t ahead = (int32_t)(event->seq - lane->seq);
	int err;

	if (ahead <= 0)
		return 0; /* it came twice, or was given up */
	if (ahead > 1)
		return hold(import, lane, event);
	err = give(import, lane, event);
	return err ? err : give_held(import, lane, false);
}

/* As the ring's head was: what a poll counter says is known only here. */
static void take_end(struct lane *lane, const struct ctf_event *event)
{
	const struct ring_head kept = lane->head;

	if (event->words != sizeof(kept) / 8)
		return;
	memcpy(&lane->head, event->raw, sizeof(lane->head));
	lane->head.pid = kept.pid;
	lane->head.tid = kept.tid;
	lane->head.ticks = kept.ticks;
	lane->head.index = kept.index;
	lane->ended = true;
}

/* Not trusted: it says how long it is and which number it has twice. */
static bool is_whole(const struct ctf_event *event)
{
	const struct event_head *head = (const void *)event->raw;

	return event->words >= sizeof(*head) / 8 && event->words <= RING_EVENT_MAX / 8 &&
	       head->words == event->words && head->seq == event->seq && head->seq && head->type &&
	       head->type < EVENT_TYPES;
}

static int on_event(void *arg, const struct ctf_event *event)
{
	struct import *import = arg;
	struct event_head *head = (void *)(uintptr_t)event->raw; /* the reader's copy */
	struct lane *lane;
	int err = 0;

	if (!event->raw)
		return 0; /* wr, wc: parts of another */
	if (event->fingerprint && event->fingerprint != verbs_fingerprint) {
		log_note("recorded by another version of verbatim: import it with that one");
		return -EPROTO;
	}
	if (!import->writer)
		err = create(import, event);
	if (!err)
		err = take_lane(import, event, &lane);
	if (err || event->fingerprint) {
		if (!err && !strcmp(event->name, "thread_end"))
			take_end(lane, event);
		return err;
	}
	if (!is_whole(event)) {
		import->damaged++;
		return writer_damage(import->writer, lane->thread, event->words * 8, 1);
	}
	head->ticks = event->time;
	if (head->type == EVENT_PROCESS && event->words * 8 >= sizeof(struct event_process))
		((struct event_process *)head)->fork_ticks = event->fork_time;
	return take_event(import, lane, head);
}

static int on_discarded(void *arg, uint64_t events)
{
	((struct import *)arg)->discarded += events;
	return 0;
}

/* What was lost behind the last event, if the end of the thread has said how many there were. */
static void lose_rest(struct import *import, struct lane *lane)
{
	uint64_t last = atomic_load_explicit(&lane->head.tapped, memory_order_relaxed);

	if (lane->ended && (uint32_t)last > lane->seq)
		lose(import, lane, (uint32_t)last - lane->seq,
		     lane->head.closed ? lane->head.closed : lane->last);
}

static int end_lane(struct import *import, struct lane *lane)
{
	int err = give_held(import, lane, true);

	while (!err && lane->nheld)
		err = give_held(import, lane, true);
	if (err)
		return err;
	lose_rest(import, lane);
	if (lane->lost) {
		if (!lane->head.dropped)
			lane->head.drop_first = lane->lost_first;
		lane->head.drop_last = lane->lost_last;
		lane->head.dropped += lane->lost;
	}
	return writer_thread_end(import->writer, lane->thread, &lane->head);
}

/* Of each process once, with its last thread's last event. */
static int end_process(struct import *import, size_t lane)
{
	uint32_t pid = import->lanes[lane]->head.pid;
	uint64_t last = 0;

	for (size_t i = 0; i < import->nlanes; i++) {
		const struct lane *other = import->lanes[i];

		if (other->head.pid != pid)
			continue;
		if (i > lane)
			return 0;
		last = other->last > last ? other->last : last;
	}
	import->processes++;
	return writer_process_end(import->writer, (int)pid, (int64_t)(last - import->start), -1);
}

/* Events that LTTng has discarded and that no thread is known to miss. */
static int tell_discarded(struct import *import)
{
	bool all_ended = true;

	for (size_t i = 0; i < import->nlanes; i++)
		all_ended = all_ended && import->lanes[i]->ended;
	if (all_ended || import->discarded <= import->lost)
		return 0;
	return writer_discarded(import->writer, import->discarded - import->lost);
}

static int finish(struct import *import, int err)
{
	int cut = err == -EBADMSG ? err : 0;
	int end_err = err == cut ? 0 : err;

	for (size_t i = 0; i < import->nlanes && !end_err; i++)
		end_err = end_lane(import, import->lanes[i]);
	for (size_t i = 0; i < import->nlanes && !end_err; i++)
		end_err = end_process(import, i);
	if (!end_err)
		end_err = tell_discarded(import);
	if (!end_err && cut)
		end_err = writer_damage(import->writer, import->lanes[0]->thread, 0, 1);
	err = writer_finish(import->writer);
	return end_err ? end_err : err ? err : cut;
}

static void forget(struct import *import)
{
	for (size_t i = 0; i < import->nlanes; i++) {
		for (unsigned int k = 0; k < import->lanes[i]->nheld; k++)
			free(import->lanes[i]->held[k]);
		free(import->lanes[i]->held);
		free(import->lanes[i]);
	}
	free(import->lanes);
}

static void tell(const struct import *import, bool quiet)
{
	if (import->discarded)
		log_note(
			"LTTng has LOST events: %llu of the recorder's are missing, %llu tracepoints "
			"were discarded; a channel with more room is made by "
			"'lttng enable-channel -u --subbuf-size=4M --num-subbuf=8'",
			(unsigned long long)import->lost, (unsigned long long)import->discarded);
	else if (import->lost)
		log_note("%llu events are missing (LOST): not all of 'verbatim:*' was enabled, or "
			 "not all the time",
			 (unsigned long long)import->lost);
	if (import->late)
		log_note(
			"the session BEGAN LATE: %u threads had recorded %llu events by then; which "
			"program it is, its modules and its objects so far are not known. Start the "
			"session before the program for these",
			import->late_threads, (unsigned long long)import->late);
	if (import->damaged)
		log_note("%llu events are DAMAGED: they are not in %s",
			 (unsigned long long)import->damaged, import->path);
	if (!quiet)
		log_note("%llu events of %u processes in %s", (unsigned long long)import->events,
			 import->processes, import->path);
}

static int import_from(struct import *import)
{
	const struct ctf_visitor visitor = { on_event, on_discarded, import };
	int err = ctf_read(import->dir, &visitor);

	if (!import->writer && !err) {
		log_note("%s holds no events of verbatim: enable them with "
			 "\"lttng enable-event -u 'verbatim:*'\" before the program starts",
			 import->dir);
		return -EPROTO;
	}
	if (!import->writer)
		return err;
	apart_unhurried();
	err = finish(import, err);
	if (!err || err == -EBADMSG)
		tell(import, import->quiet || err);
	return !err && import->damaged ? -EBADMSG : err;
}

static int work(void *arg)
{
	struct import *import = arg;
	int err = import_from(import);

	forget(import);
	return cli_status(err);
}

/* The reader's library did not get through it: what was made of it so far is nothing to keep. */
static int tell_ended(const struct import *import, int signal)
{
	if (*import->made)
		file_remove(import->path);
	if (signal == SIGXCPU)
		log_note("%s is damaged: babeltrace2 does not come to an end of it; nothing was "
			 "imported",
			 import->dir);
	else
		log_note("%s is damaged, or needs more than %d GB of memory: babeltrace2 ended by "
			 "signal %d (%s); nothing was imported",
			 import->dir, GIGABYTES, signal, strsignal(signal));
	return CLI_TRACE;
}

static int import_apart(struct import *import)
{
	const struct apart_limits limits = { (uint64_t)GIGABYTES << 30, SECONDS };
	int signal, status;

	import->made = apart_share(sizeof(*import->made));
	if (!import->made)
		return cli_status(log_err(-ENOMEM, "import %s", import->dir));
	status = apart_run(work, import, &limits, &signal);
	if (status < 0 && !signal)
		return cli_status(log_err(status, "start a process to read %s", import->dir));
	return signal ? tell_ended(import, signal) : status;
}

int cli_import(int argc, char **argv)
{
	struct import import = { 0 };
	struct arguments arguments;

	cli_parse(argc, argv, &import, &arguments);
	if (!arguments.n)
		return cli_misuse("import", "no CTF directory is given");
	if (arguments.n > 1)
		return cli_misuse("import", "too much is given: '%s'", arguments.at[1]);
	import.dir = arguments.at[0];
	return import_apart(&import);
}
