/*
 * Joining the session
 *
 * Nothing happens before a program calls a verb. Then the process joins the
 * session of VERBATIM_DIR, and each thread that calls a verb gets a ring.
 *
 * Not here: how a thread finds out that its process has to join (recording.c).
 */
#include "shim/trace/process/join.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/trace/base/private_stack.h"
#include "shim/trace/base/defined.h"
#include "shim/trace/base/forks.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/tap.h"
#include "shim/trace/interpose/fault.h"
#include "shim/trace/interpose/sandbox.h"
#include "shim/trace/objects/descriptors.h"
#include "shim/trace/objects/ranges.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/process/process.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"

/*
 * Values of @state; any other value is the pid of the process whose thread is joining: in a child,
 * it differs from the child's own pid.
 */
enum process_state { PROCESS_NEW, PROCESS_READY = -1 };

static _Atomic pid_t state; /* enum process_state */
static pid_t recorded_pid;
static bool joined;              /* a session was found */
static char given[SESSION_PATH]; /* session to attach to; "": the one in the environment */

/*
 * After fork(), a pthread_mutex_t is usable only if it was free, or if the forking thread held it.
 */
static void before_fork(void)
{
	recording_lock();
}

static void after_fork_parent(void)
{
	recording_unlock();
}

static void after_fork_child(void)
{
	private_stack_after_fork();
	permit_after_fork(recording_lock_is_quiet());
	recording_unlock();
	recording_after_fork();
}

/*
 * The program's own handlers before a fork may wait for a thread that needs the lock, so the
 * recorder's handler must run after them. Of these handlers, the one registered first runs last: so
 * register it before the program begins.
 */
__attribute__((constructor)) static void watch_forks(void)
{
	process_watch_forks();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	process_announce_forks();
}

/* Find the session of VERBATIM_DIR; without one, a tap has a separate session. */
static bool find_session(void)
{
	const char *dir = *given ? given : getenv(SESSION_ENV);

	if (!dir || !*dir) {
		if (tap_get())
			session_make_private(&recording_session);
		return tap_get();
	}
	if (session_join_or_make(&recording_session, dir))
		return false;
	if (recording_session.page->lttng) {
		forks_hold();
		tap_load();
		forks_release();
	}
	return true;
}

/*
 * Join the session once per image; children of fork() inherit this. A fork may happen in between,
 * so each step checks whether it was done already.
 */
static bool join_session(void)
{
	static bool announced;

	if (!joined && !find_session())
		return false;
	joined = true;
	if (!session_is_running(&recording_session))
		return false;
	atomic_store_explicit(&record_clock, recording_session.page->clock.kind,
			      memory_order_relaxed);
	if (!announced) {
		/* a child forked in between would find libc's list of handlers locked */
		recording_lock();
		process_announce_exit();
		recording_unlock();
	}
	/* in a running program sigaction() is not interposed */
	if (!announced && !*given && !session_is_alone(&recording_session))
		fault_begin();
	announced = true;
	return recording_has_page() || !recording_make_page();
}

/* Describe a new process: the first one, or a child that continues with its parent's image. */
static bool start_process(void)
{
	bool child;

	if ((!recording_has_page() || !joined) && !join_session())
		return false;
	if (forks_is_torn()) {
		atomic_fetch_add(&recording_session.page->ringless, 1);
		return false;
	}
	child = recorded_pid && recorded_pid != getpid();
	rings_begin(&recording_session, record_ticks());
	defined_begin();
	payload_begin(&recording_session.page->payload, child);
	descriptors_begin(child);
	ranges_begin(recording_session.page->memory, child);
	strict_begin(recording_session.page->strict, child);
	if (payload_on)
		sandbox_begin(recording_session.page->filters, child);
	process_begin(recorded_pid);
	recorded_pid = getpid();
	recording_begin();
	return true;
}

/* Let one thread join, while the others wait. False: this process is not recorded. */
bool join_process(void)
{
	pid_t me = getpid(), found;
	bool ok;

	do {
		while ((found = atomic_load(&state)) == me)
			sched_yield();
		if (recording_is_over())
			return false;
		if (found == PROCESS_READY && recording_generation())
			return true;
	} while (!atomic_compare_exchange_strong(&state, &found, me));
	/* another thread may have joined before the exchange */
	ok = (found == PROCESS_READY && recording_generation()) || start_process();
	if (!ok)
		recording_end();
	atomic_store(&state, ok ? PROCESS_READY : PROCESS_NEW);
	return ok;
}

void reset_join(const char *dir)
{
	snprintf(given, sizeof(given), "%s", dir);
	joined = false;
	recorded_pid = 0;
	recording_reset();
	atomic_store(&state, PROCESS_NEW);
}
