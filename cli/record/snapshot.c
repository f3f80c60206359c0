/*
 * verbatim snapshot: a copy of the current content of a flight recorder
 *
 * The request to the recorder and its answer are in the page of its session.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/guests.h"
#include "cli/quantity.h"
#include "core/wire/log.h"
#include "core/base/printable.h"
#include "core/wire/session.h"

enum { LOOK_NS = 5 * 1000 * 1000 };

const struct option_row cli_snapshot_options[] = { { 0 } };

static bool is_recording(const struct session *session)
{
	return session_running(session) && session->collector &&
	       session_process_alive((pid_t)session->collector, session->collector_start);
}

/* Is it the session that @pid records, or is recorded in? @pid 0: any flight recorder's. */
static bool is_wanted(const struct session *session, pid_t pid)
{
	pid_t pids[GUESTS_MAX];
	unsigned int n;

	if (!is_recording(session))
		return false;
	if (!pid)
		return session->page->flight;
	if ((pid_t)session->collector == pid)
		return true;
	n = guests_scan(session->dir, pids, GUESTS_MAX);
	for (unsigned int i = 0; i < n && i < GUESTS_MAX; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Look through all sessions of this user. Returns how many fit; the first in @found. */
static unsigned int find_recorders(pid_t pid, struct session *found)
{
	char path[SESSION_PATH + 256];
	DIR *list = opendir(session_parent());
	unsigned int n = 0;

	for (struct dirent *d; list && (d = readdir(list));) {
		struct session session = { 0 };

		snprintf(path, sizeof(path), "%s/%s", session_parent(), d->d_name);
		if (!session_is_collectors(d->d_name) || session_join(&session, path))
			continue;
		if (is_wanted(&session, pid) && !n++)
			*found = session;
		else
			session_leave(&session);
	}
	if (list)
		closedir(list);
	return n;
}

static pid_t parse_pid(const char *text)
{
	uint64_t pid;

	return quantity_number(text, INT32_MAX, &pid) ? (pid_t)pid : 0;
}

/* Returns 0 with the session of the recorder that is meant, or -errno after one line. */
static int choose_session(const char *which, struct session *session)
{
	pid_t pid = which ? parse_pid(which) : 0;
	unsigned int n;

	if (which && !pid) {
		int err = session_join(session, which);

		if (err)
			return log_err(err, "open the session %s", which);
		return is_recording(session)
			       ? 0
			       : log_err(-ESRCH, "nobody records in %s any more", which);
	}
	n = find_recorders(pid, session);
	if (n == 1)
		return 0;
	if (pid)
		return log_err(-ESRCH, "process %d is neither a recorder nor recorded", (int)pid);
	return n ? log_err(-EINVAL, "%u flight recorders are running: name one by its PID", n)
		 : log_err(-ESRCH, "no flight recorder is running: start one by "
				   "'verbatim record --flight SIZE'");
}

/* A copy of a text of the page, with its end: the program can write to the page. */
static const char *read_text(const char *text, char copy[SESSION_TEXT])
{
	memcpy(copy, text, SESSION_TEXT - 1);
	copy[SESSION_TEXT - 1] = '\0';
	return copy;
}

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
		if (!is_recording(session))
			return log_err(-ESRCH, "the recorder has ended: its trace is %s",
				       read_text(page->trace, text));
		nanosleep(&pause, NULL);
	}
	if (!*read_text(page->copy, text))
		return log_err(-EIO, "the recorder could not write a copy of %s: it says why",
			       read_text(page->trace, text));
	print_foreign(stdout, text);
	putchar('\n');
	return 0;
}

static int take_snapshot(const char *which)
{
	struct session session = { 0 };
	char text[SESSION_TEXT];
	int err = choose_session(which, &session);

	if (!err)
		err = session.page->flight
			      ? ask_recorder(&session)
			      : log_err(-EOPNOTSUPP, "%s is recorded as a whole, not by --flight",
					read_text(session.page->trace, text));
	session_leave(&session);
	return err ? CLI_ENVIRONMENT : CLI_FINE;
}

int cli_snapshot(int argc, char **argv)
{
	struct arguments arguments;

	cli_parse(argc, argv, NULL, &arguments);
	if (arguments.n > 1)
		return cli_misuse("snapshot", "too much is given: '%s'", arguments.at[1]);
	return take_snapshot(arguments.n ? arguments.at[0] : NULL);
}
