/*
 * What a recording needs before its program starts: the session, the trace, and the readers of both
 *
 * Not here: the rounds of the recording, and its end (recording.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record/copies.h"
#include "cli/record/device.h"
#include "cli/record/guests.h"
#include "cli/record/node.h"
#include "cli/record/live_view.h"
#include "cli/record/recording_priv.h"
#include "cli/record/test_clock.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"
#include "core/store/db/secret.h"

/* The command line, without passwords. */
static void join_words(const struct recording_settings *set, struct text *to)
{
	struct secret_line line = { 0 };

	for (char **w = set->program; *w; w++) {
		if (w != set->program)
			text_char(to, ' ');
		if (set->redact & REDACT_NOTHING)
			text_add(to, *w, strlen(*w));
		else
			secret_add_word(&line, *w, strlen(*w), to);
	}
}

/* Describe the session by the same command line as the trace. */
static void describe_session(struct recording *r, const char *command)
{
	struct text redacted = { 0 };

	if (r->redact && redact_text(r->redact, WRITER_COMMAND, command, &redacted))
		command = redacted.failed || !redacted.at ? "" : redacted.at;
	if (r->set->node)
		node_describe(command, r->session.page->command);
	else
		snprintf(r->session.page->command, SESSION_TEXT, "%s", command);
	text_fini(&redacted);
}

static int create_trace(struct recording *r)
{
	struct text command = { 0 };
	struct writer_info info = {
		.clock = &r->session.clock,
		.live = true,
		.command = "",
		.device = r->set->soft     ? "soft"
			  : r->set->device ? r->set->device
					   : "",
		.filter = r->set->filter.text,
		.copies_on_fork = copies_on_fork(),
		.memory = r->set->memory,
		.waits = true,
		.strict = r->set->strict,
		.one_of = r->set->filter.one_of,
		.payload = r->session.page->payload,
		.cuts = retention_has_cuts(&r->retention),
		.most = retention_max_file_size(&r->retention),
		.redact = redact_writer(r->redact),
		.passwords = r->set->redact & REDACT_NOTHING,
	};
	int err;

	join_words(r->set, &command);
	if (!command.failed && command.at)
		info.command = command.at;
	err = writer_create(r->set->path, &info, &r->writer);
	describe_session(r, info.command);
	if (!err)
		err = collector_new(&r->session, r->writer, &r->collector);
	r->retention.session = &r->session;
	r->retention.writer = r->writer;
	r->retention.collector = r->collector;
	r->retention.counters = &r->counters;
	text_fini(&command);
	return err;
}

static int start_followers(struct recording *r)
{
	struct watch_options options = { .session = &r->session,
					 .writer = r->writer,
					 .progress = &r->progress,
					 .path = r->set->path,
					 .check = &r->set->findings,
					 .known = r->set->known,
					 .stop = r->set->stop.finding,
					 .each = alerts_note_finding,
					 .each_arg = r->alerts,
					 .in_parts = retention_has_cuts(&r->retention) };
	int err = live_stats_new(&r->session, r->writer, r->onlooker, &r->vitals);

	options.vitals = r->vitals;
	if (!err)
		alerts_attach(r->alerts, r->writer, r->vitals);
	if (!err && r->set->check)
		err = watch_new(&options, &r->watch);

	r->retention.watch = r->watch;
	r->retention.vitals = r->vitals;
	return err;
}

/* Can memory be read? Tried in a child, since a seccomp filter may kill the process that tries. */
static bool may_read_memory(void)
{
	uint32_t from = 1, to = 0;
	const struct iovec here = { &to, sizeof(to) }, there = { &from, sizeof(from) };
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(process_vm_readv(getpid(), &here, 1, &there, 1, 0) != sizeof(to));
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* Can payload be read? The program inherits our seccomp filters, unless a launcher adds one. */
static void check_payload(struct session_page *page)
{
	uint32_t filters = page->payload.keep ? session_filters() : 0;

	if (!filters)
		return;
	if (filters != UINT32_MAX && may_read_memory())
		page->filters = filters;
	else
		log_note("payload cannot be captured here: a seccomp filter may forbid "
			 "process_vm_readv; allow it in the configuration of the container or "
			 "service");
}

static void set_wait_and_budget(const struct recording_settings *set, struct session_page *page)
{
	page->budget_given = set->ring_budget != 0;
	if (set->ring_budget)
		page->ring_budget = set->ring_budget;
	page->max_wait = (uint64_t)set->max_wait;
}

static int start_live_view(struct recording *r)
{
	pid_t pid = r->set->live ? live_view_start(&r->session) : 0;

	r->onlooker = pid > 0 ? pid : 0;
	return pid < 0 ? pid : 0;
}

static void before_commit(void *arg)
{
	struct recording *r = arg;

	collector_mark_positions(r->collector);
	standby_renew(&r->standby);
}

/*
 * Prepare a process that takes over if this one is killed. Not if traces are cut or rotated: it
 * would have to know all of them.
 */
static int open_node(struct recording *r)
{
	const struct retention *retention = &r->retention;
	int err = 0;

	if (!r->set->node)
		return 0;
	if (!retention->flight && !retention->rotate_bytes && !retention->rotate_ns) {
		err = standby_init(&r->standby, r->session.page);
		if (!err) {
			collector_hold(r->collector);
			writer_on_commit(r->writer, before_commit, r);
		}
	}
	if (!err)
		err = writer_flush(r->writer);
	return err ?: node_open(r->set->node, &r->session);
}

int recording_prepare(struct recording *r)
{
	int err = alerts_new(&r->set->alerts, r->set->path, r->progress.quiet, &r->alerts);

	if (err)
		return err;
	err = session_create(&r->session, NULL, r->set->ring_bytes, r->set->on_full);
	if (err)
		return log_err(err,
			       "create a directory for the session in %s (set VERBATIM_SESSIONS "
			       "to use another place)",
			       session_parent());
	snprintf(r->session.page->trace, SESSION_TEXT, "%s", r->set->path);
	r->session.page->filter = r->set->filter;
	r->session.page->stop = r->set->stop.rule;
	r->session.page->payload.keep = r->set->payload;
	check_payload(r->session.page);
	set_wait_and_budget(r->set, r->session.page);
	r->session.page->flight = r->retention.flight || r->set->node;
	guests_remove_leftovers(&r->session, r->progress.quiet);
	r->session.page->lttng = r->set->lttng;
	r->session.page->redact = r->set->redact;
	r->session.page->memory = r->set->memory;
	r->session.page->strict = r->set->strict;
	err = test_clock_set(&r->session);
	if (!err)
		err = start_live_view(r);
	if (!err)
		err = device_set_environment(r->session.dir, r->set->soft);
	if (!err && r->set->memory)
		err = device_watch_memory();
	if (!err)
		err = device_counters_start(&r->counters, r->set->soft, r->session.dir);
	if (!err && r->set->redact & ~REDACT_NOTHING)
		err = redact_new(r->set->redact, &r->redact);
	if (!err)
		err = create_trace(r);
	if (!err)
		err = start_followers(r);
	if (!err)
		err = open_node(r);
	return err;
}
