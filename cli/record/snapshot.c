/*
 * verbatim snapshot: a copy of the current content of a flight recorder
 *
 * The request to the recorder and its reply are in the page of its session.
 */
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

static int ask_recorder(struct session *session)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct session_page *page = session->page;
	char text[SESSION_TEXT];
	uint32_t mine = atomic_fetch_add(&page->copies_asked, 1) + 1;

	session_wake(session);
	/* pairs with the store in retention.c */
	while ((int32_t)(atomic_load_explicit(&page->copies_made, memory_order_acquire) - mine) <
	       0) {
		if (!find_session_records(session))
			return log_why(-ESRCH, "the recorder has ended: its trace is %s",
				       find_session_text(page->trace, text));
		nanosleep(&pause, NULL);
	}
	if (!*find_session_text(page->copy, text))
		return log_why(-EIO,
			       "the recorder could not write a snapshot of %s; see its "
			       "output",
			       find_session_text(page->trace, text));
	print_foreign(stdout, text);
	putchar('\n');
	return 0;
}

static int take_snapshot(const char *which)
{
	struct session session = { 0 };
	char text[SESSION_TEXT];
	int err = find_session(which, FIND_FLIGHT, &session);

	if (!err)
		err = session.page->flight
			      ? ask_recorder(&session)
			      : log_why(-EOPNOTSUPP, "%s is not a flight recording (--flight)",
					find_session_text(session.page->trace, text));
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
