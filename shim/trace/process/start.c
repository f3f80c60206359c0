/*
 * How a verb gets a ring: record_ready()
 *
 *	is a vfork() child running in this thread?    vfork.c
 *	the process joins its session         join.c
 *	the thread gets a ring                thread.c
 *	the process is described              process.c
 */
#include <errno.h>
#include <stdatomic.h>

#include "shim/trace/base/private_stack.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/quiet.h"
#include "shim/trace/interpose/sandbox.h"
#include "shim/trace/process/join.h"
#include "shim/trace/process/process.h"
#include "shim/trace/process/thread.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/vfork.h"

/* The thread continues without being recorded: trying again at each verb would be too slow. */
static void continue_unrecorded(void)
{
	recorder.ringless = recording_generation();
	if (session_is_running(&recording_session))
		atomic_fetch_add(&recording_session.page->ringless, 1);
	else
		recording_end();
}

/*
 * Make sure that the end of a thread is noticed: otherwise its ring would never be freed, so the
 * process is not recorded.
 */
static bool watch_thread_end(void)
{
	bool watched = thread_watch_ends();

	if (!watched)
		recording_end();
	return watched;
}

/*
 * Has the program forbidden system calls that a ring needs? This is counted in the session's page,
 * which a process that has not joined does not have.
 */
static bool is_recording_forbidden(void)
{
	if (permit_has(NEED_RING | NEED_QUIET))
		return false;
	recorder.ringless = recording_generation();
	if (!session_is_running(&recording_session) || !recording_has_page()) {
		recording_end();
		return true;
	}
	atomic_fetch_add(&recording_session.page->ringless, 1);
	atomic_fetch_add(&recording_session.page->sandboxed, 1);
	return true;
}

/* Joining is done on a private stack: the first verb of a process loads libraries. */
static void join_and_start(void *ret_ok)
{
	bool *ok = ret_ok;

	if (!join_process() || !watch_thread_end())
		return;
	*ok = thread_make_ring();
	if (*ok) {
		process_write();
		sandbox_report();
	} else {
		continue_unrecorded();
	}
}

static bool start_recording(void)
{
	struct quiet quiet;
	int saved = errno;
	bool ok = false;

	if (recorder.vfork) {
		ok = vfork_is_over();
		errno = saved;
		if (ok || recorder.vfork)
			return ok;
	}
	if (recorder.busy || recording_is_over() || recorder.ringless == recording_generation())
		return false;
	if (is_recording_forbidden())
		return false;
	/*
	 * a handler's verbs would not be recorded, and a signal would interrupt posix_fallocate()
	 */
	quiet_begin(&quiet);
	recorder.busy = true;
	private_stack_call(join_and_start, &ok);
	recorder.busy = false;
	quiet_end(&quiet);
	errno = saved;
	return ok;
}

static bool start_thread(void)
{
	bool ok = start_recording();

	if (!ok)
		record_set_unseen(true);
	return ok;
}

REGISTER(record_start, start_thread)
