/*
 * Find the session of a running recorder
 */
#include "cli/record/find_session.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/quantity.h"
#include "cli/record/guests.h"
#include "cli/record/output_name.h"
#include "core/wire/log.h"

bool find_session_alive(const struct session *session)
{
	return session_has_collector(session->page);
}

bool find_session_records(const struct session *session)
{
	return session_is_running(session) && find_session_alive(session);
}

/* Does @pid record the session, or is it recorded in it? @pid 0: any, of @which recorders. */
static bool is_wanted(const struct session *session, pid_t pid, enum find_session which)
{
	pid_t pids[GUESTS_MAX];
	unsigned int n;

	if (!find_session_records(session))
		return false;
	if (!pid)
		return which == FIND_ANY || session->page->flight;
	if ((pid_t)session->collector == pid)
		return true;
	n = guests_scan(session->dir, pids, GUESTS_MAX);
	for (unsigned int i = 0; i < n && i < GUESTS_MAX; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* The user chooses one of the printed recorders. */
static void print_recorder(const struct session *session)
{
	char trace[SESSION_TEXT], command[SESSION_TEXT];

	log_note("  %d: %s, of %s", (int)session->collector,
		 find_session_text(session->page->trace, trace),
		 find_session_text(session->page->command, command));
}

/*
 * Search all sessions of this user. Returns the number of matches; stores the first in @found, or,
 * if @found is NULL, prints a line about each.
 */
static unsigned int find_recorders(pid_t pid, enum find_session which, struct session *found)
{
	char path[SESSION_PATH + 256];
	DIR *list = opendir(session_parent());
	unsigned int n = 0;
	bool wanted;

	for (struct dirent *d; list && (d = readdir(list));) {
		struct session session = { 0 };

		snprintf(path, sizeof(path), "%s/%s", session_parent(), d->d_name);
		if (!session_is_by_collector(d->d_name) || session_join(&session, path))
			continue;
		wanted = is_wanted(&session, pid, which);
		if (wanted && !found)
			print_recorder(&session);
		if (wanted && !n++ && found)
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

/* The recorder's statistics can be read until it ends; requests reach it only while it records. */
static bool has_recorder(const struct session *session, enum find_session which)
{
	return which == FIND_ANY ? find_session_alive(session) : find_session_records(session);
}

/*
 * Does the recorder of @session record the trace at @real? Its name of the trace may be relative to
 * its directory.
 */
static bool records_trace(const struct session *session, const char *real)
{
	char trace[SESSION_TEXT], link[64], dir[PATH_MAX], whole[2 * PATH_MAX], found[PATH_MAX];
	ssize_t n;

	find_session_text(session->page->trace, trace);
	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)session->page->collector);
	n = *trace == '/' ? 0 : readlink(link, dir, sizeof(dir) - 1);
	if (n < 0 || !find_session_records(session))
		return false;
	snprintf(whole, sizeof(whole), "%.*s%s%s", (int)n, dir, n ? "/" : "", trace);
	return realpath(whole, found) && !strcmp(found, real);
}

int find_session_of_trace(const char *path, struct session *session)
{
	char dir[SESSION_PATH + 256], real[PATH_MAX];
	DIR *list = realpath(path, real) ? opendir(session_parent()) : NULL;
	bool found = false;

	for (struct dirent *d; !found && list && (d = readdir(list));) {
		snprintf(dir, sizeof(dir), "%s/%s", session_parent(), d->d_name);
		if (!session_is_by_collector(d->d_name) || session_join(session, dir))
			continue;
		found = records_trace(session, real);
		if (!found)
			session_leave(session);
	}
	if (list)
		closedir(list);
	return found ? 0 : -ESRCH;
}

static int join_by_name(const char *pattern, enum find_session which, struct session *session)
{
	char complaint[OUTPUT_COMPLAINT], name[PATH_MAX];
	int err = output_name_make(pattern, 0, name, complaint);

	if (err)
		return log_why(err, "%s", complaint);
	err = cli_find_file(name);
	if (err)
		return err;
	if (cli_is_trace(name))
		return find_session_of_trace(name, session)
			       ? log_why(-ESRCH, "%s is not being recorded on this node", name)
			       : 0;
	err = session_join(session, name);
	if (err)
		return log_err(err, "open the session %s", name);
	return has_recorder(session, which)
		       ? 0
		       : log_why(-ESRCH, "the recording in %s has ended", name);
}

int find_session(const char *name, enum find_session which, struct session *session)
{
	const char *what = which == FIND_FLIGHT ? "flight recorder" : "recorder";
	pid_t pid = name ? parse_pid(name) : 0;
	unsigned int n;

	if (name && !pid)
		return join_by_name(name, which, session);
	n = find_recorders(pid, which, session);
	if (n == 1)
		return 0;
	if (pid)
		return log_why(-ESRCH, "process %d is neither a recorder nor a recorded process",
			       (int)pid);
	if (!n)
		return log_why(-ESRCH, "no %s is running: start one with 'verbatim record%s'", what,
			       which == FIND_FLIGHT ? " --flight SIZE" : "");
	log_note("%u %ss are running: give the PID of one", n, what);
	find_recorders(0, which, NULL);
	return -EINVAL;
}

const char *find_session_text(const char *text, char copy[SESSION_TEXT])
{
	memcpy(copy, text, SESSION_TEXT - 1);
	copy[SESSION_TEXT - 1] = '\0';
	return copy;
}
