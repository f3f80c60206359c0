/*
 * verbatim collect: a trace of a session without a recorder
 *
 * Programs that were started with only libverbatim.so and VERBATIM_DIR, and those whose recorder
 * died, leave their events in the files of the session. Reading does not change these files: after
 * a failure it can be repeated.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "cli/record/collector.h"
#include "cli/record/copies.h"
#include "cli/record/guests.h"
#include "cli/record/progress.h"
#include "cli/record/redact_list.h"
#include "core/wire/dir.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

struct session_collection {
	struct session session;
	struct session_page page; /* a copy made after the programs had ended */
	const char *dir, *path;
	bool keep;
	uint32_t redact;
	struct redact *redacting; /* NULL: nothing is replaced */
	int lock;                 /* locked by the process that collects the session */
	struct writer *writer;
	struct collector *collector;
	struct progress progress;
};

/* clang-format off */
const struct option_row cli_collect_options[] = {
	{ "output", 'o', "FILE", "the trace to write",
	  TEXT_AT(struct session_collection, path), .preset = "verbatim.db" },
	REDACT_ROW(struct session_collection),
	{ "keep", 0, NULL, "do not remove the session", FLAG_AT(struct session_collection, keep) },
	{ 0 },
};
/* clang-format on */

static int report_unusable(const char *dir, int err)
{
	switch (err) {
	case -ENOENT:
		return log_err(err,
			       access(dir, F_OK) ? "open the session %s"
						 : "%s has no session: nothing was recorded there",
			       dir);
	case -ENOTDIR:
		return log_why(-EINVAL,
			       "%s is not the directory of a session; give the one of "
			       "VERBATIM_DIR",
			       dir);
	case -EACCES:
		return log_err(err,
			       "%s: the directory of a session must be yours and must not be "
			       "writable by others",
			       dir);
	case -EPROTO:
		return log_err(err,
			       "the session in %s is of another version of verbatim, or "
			       "truncated; collect it with the version that recorded it",
			       dir);
	}
	return log_err(err, "open the session %s", dir);
}

static int lock_session(struct session_collection *c)
{
	int at = session_open_dir(&c->session);
	uint64_t bytes;

	c->lock = at < 0 ? at : dir_open_file(at, "session", O_RDONLY, &bytes);
	if (at >= 0)
		close(at);
	if (c->lock < 0)
		return log_err(c->lock, "open the session %s", c->dir);
	if (flock(c->lock, LOCK_EX | LOCK_NB))
		return log_why(-EBUSY, "%s is being collected by another process", c->dir);
	return 0;
}

static int open_session(struct session_collection *c)
{
	int err = session_join(&c->session, c->dir);

	if (err)
		return report_unusable(c->dir, err);
	err = lock_session(c);
	if (err)
		return err;
	if (guests_in_use(&c->session))
		return log_why(-EBUSY,
			       "%s is still in use: collect it when its programs%s have "
			       "ended",
			       c->dir, c->session.collector ? " and their recorder" : "");
	if (!session_count_rings(&c->session))
		return log_why(-EINVAL, "%s is empty: no program has called a verb there", c->dir);
	return 0;
}

/* Copy the page, which another process wrote and may still write to. */
static void copy_page(const struct session *session, struct session_page *page)
{
	memcpy(page, session->page, sizeof(*page));
	page->command[SESSION_TEXT - 1] = '\0';
	page->trace[SESSION_TEXT - 1] = '\0';
	page->filter.text[sizeof(page->filter.text) - 1] = '\0';
}

static int create_trace(struct session_collection *c)
{
	struct writer_info info = {
		.clock = &c->session.clock,
		.command = c->page.command,
		.device = "",
		.filter = c->page.filter.text,
		.copies_on_fork = copies_on_fork(),
		.waits = true,
	};
	int err;

	copy_page(&c->session, &c->page);
	if (!c->redact) /* the value that the dead recorder had */
		c->redact = c->page.redact;
	err = c->redact & ~REDACT_NOTHING ? redact_new(c->redact, &c->redacting) : 0;
	if (err)
		return err;
	info.redact = redact_writer(c->redacting);
	info.passwords = c->redact & REDACT_NOTHING;
	info.payload = c->page.payload;
	info.one_of = c->page.filter.one_of;
	err = writer_create(c->path, &info, &c->writer);
	if (!err)
		err = collector_new(&c->session, c->writer, &c->collector);
	return err;
}

static int drain_leftover(struct session_collection *c)
{
	int fullest, err = collector_note_leftover(c->collector);

	if (err)
		return err;
	do {
		fullest = collector_drain(c->collector);
		progress_show(&c->progress, c->writer);
	} while (fullest > 0);
	return fullest ? fullest : collector_finish(c->collector);
}

/* Report what is only in the dead recorder's trace: ended threads, and events already read. */
static void report_dead_recorder(const struct session_collection *c)
{
	const struct session_page *page = &c->page;

	if (c->session.collector)
		log_note("the recorder of %s had died: events that it read before are in its own "
			 "trace, %s",
			 c->dir, *page->trace ? page->trace : "verbatim.db");
}

static int collect_session(struct session_collection *c)
{
	struct writer_alarms alarms;
	struct totals totals;
	bool unreadable, before, nothing;
	int err = create_trace(c);

	if (!c->writer)
		return err;
	if (!err)
		err = drain_leftover(c);
	unreadable = c->collector && collector_has_unreadable(c->collector);
	collector_free(c->collector);
	err = writer_stop(c->writer, err) ?: err;
	totals = writer_totals(c->writer);
	alarms = writer_alarms(c->writer);
	nothing = writer_progress(c->writer).before;
	before = writer_has_before(c->writer);
	err = writer_finish(c->writer) ?: err;
	/* a session that is not removed may be used by another recording */
	if (!c->session.collector)
		atomic_store(&c->session.page->state, SESSION_RUNNING);
	if (err)
		return log_err(err,
			       "%s is %s; the session was left in place: run `verbatim "
			       "collect %s` again",
			       c->path, before ? "the previous trace" : "INCOMPLETE", c->dir);
	report_dead_recorder(c);
	progress_end(&c->progress, c->path, &totals, &alarms, nothing);
	if (unreadable)
		log_note("%s is not removed, since a part of it is unreadable: another version of "
			 "verbatim may have written it",
			 c->dir);
	else if (!c->keep)
		session_remove(&c->session);
	return 0;
}

int cli_collect(int argc, char **argv)
{
	struct session_collection c = { .lock = -1 };
	struct arguments arguments;
	int err;

	cli_parse(argc, argv, &c, &arguments);
	if (!arguments.n)
		return cli_misuse("collect", "no session given");
	if (arguments.n > 1)
		return cli_refuse_argument("collect", arguments.at[1]);
	c.dir = arguments.at[0];
	progress_start(&c.progress, common.verbosity == LOG_QUIET);
	err = cli_find_file(c.dir) ?: open_session(&c);
	if (!err)
		err = collect_session(&c);
	session_leave(&c.session);
	redact_free(c.redacting);
	if (c.lock >= 0)
		close(c.lock);
	return cli_status(err);
}
