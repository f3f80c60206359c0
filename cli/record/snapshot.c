/*
 * verbatim snapshot: a copy of the current content of a flight recorder
 *
 * The request to the recorder and its reply are in the page of its session.
 */
#include "cli/record/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/record/find_session.h"
#include "core/wire/log.h"
#include "core/base/printable.h"
#include "core/wire/session.h"

enum { LOOK_NS = 5 * 1000 * 1000 };

const struct option_row cli_snapshot_options[] = { { 0 } };

int snapshot_take(struct session *session, char path[PATH_MAX])
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct session_page *page = session->page;
	char text[SESSION_TEXT];
	uint32_t mine;

	if (!page->flight)
		return log_why(-EOPNOTSUPP,
			       "%s is neither a flight recording (--flight) nor the recording of a "
			       "node of a job",
			       find_session_text(page->trace, text));
	mine = atomic_fetch_add(&page->copies_asked, 1) + 1;
	session_wake(session);
	/* pairs with the store in retention.c */
	while ((int32_t)(atomic_load_explicit(&page->copies_made, memory_order_acquire) - mine) <
	       0) {
		if (!session_is_running(session) || !session_has_collector(page))
			return -ESRCH;
		nanosleep(&pause, NULL);
	}
	if (!*find_session_text(page->copy, text))
		return log_why(-EIO,
			       "the recorder could not write a snapshot of %s; see its "
			       "output",
			       find_session_text(page->trace, text));
	snprintf(path, PATH_MAX, "%s", text);
	return 0;
}

static int print_snapshot(struct session *session)
{
	char path[PATH_MAX], text[SESSION_TEXT];
	int err = snapshot_take(session, path);

	if (err == -ESRCH)
		return log_why(err, "the recorder has ended: its trace is %s",
			       find_session_text(session->page->trace, text));
	if (err)
		return err;
	print_untrusted(stdout, path);
	putchar('\n');
	return 0;
}

static int take_snapshot(const char *which)
{
	struct session session = { 0 };
	int err = find_session(which, FIND_FLIGHT, &session);

	if (!err)
		err = print_snapshot(&session);
	session_leave(&session);
	return err ? CLI_ENVIRONMENT : CLI_FINE;
}

int cli_snapshot(int argc, char **argv)
{
	struct arguments arguments;

	cli_parse(argc, argv, NULL, &arguments);
	if (arguments.n > 1)
		return cli_refuse_argument("snapshot", arguments.at[1]);
	return take_snapshot(arguments.n ? arguments.at[0] : NULL);
}
