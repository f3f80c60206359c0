/*
 * A program that changes its user
 *
 *	root, before setuid() and the like --> the process joins, rings are set aside
 *	later, as the other user           --> new threads and children get these
 *	exec as the other user             --> is counted in the session's page
 *
 * Only its own user can access the session's directory. So after the change no ring can be created,
 * and a new program cannot even report that it is not recorded. A program that was not linked with
 * verbs (setpriv, su) does not join: it only maps the page, to count what it executes.
 *
 * Not covered: bare system calls.
 */
#include "shim/trace/process/user.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/trace/base/libc.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/started.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/recording.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/ring/vfork.h"

static struct session seen; /* mapped before the change of user, if the process does not join */
static uid_t owner;         /* user of the session; valid if @left is set */
static _Atomic bool left;   /* the process has changed its user, or is about to */

static struct session_page *known_page(void)
{
	return recording_session.page ?: seen.page;
}

static void open_page_early(void)
{
	const char *dir = getenv(SESSION_ENV);

	if (!dir || !*dir)
		return;
	recording_lock();
	if (!known_page())
		session_join(&seen, dir);
	recording_unlock();
}

/* Prepare for a change of user. Only a change from root matters: other users lose no access. */
static void prepare_user_change(uid_t to)
{
	int saved = errno;

	if (to == (uid_t)-1 || !permit_has(NEED_IDS) || geteuid() || !to || recorder.busy ||
	    vfork_is_child())
		return;
	if ((recording_is_on() || started_has_verbs()) && record_ready())
		rings_set_aside(&recording_session);
	else
		open_page_early();
	if (known_page() && !atomic_exchange(&left, true))
		owner = geteuid();
	errno = saved;
}

void user_exec(void)
{
	static _Atomic pid_t counted;
	struct session_page *page = known_page();
	uid_t now;

	if (!atomic_load(&left) || !page || !permit_has(NEED_IDS))
		return;
	now = geteuid();
	if (now == owner || atomic_exchange(&counted, getpid()) == getpid())
		return;
	atomic_store(&page->stranger, (uint32_t)now + 1);
	atomic_fetch_add(&page->strangers, 1);
}

OURS int setuid(uid_t uid)
{
	prepare_user_change(uid);
	return NEXT(setuid)(uid);
}

OURS int seteuid(uid_t uid)
{
	prepare_user_change(uid);
	return NEXT(seteuid)(uid);
}

OURS int setreuid(uid_t real, uid_t effective)
{
	prepare_user_change(effective);
	return NEXT(setreuid)(real, effective);
}

OURS int setresuid(uid_t real, uid_t effective, uid_t kept)
{
	prepare_user_change(effective);
	return NEXT(setresuid)(real, effective, kept);
}
