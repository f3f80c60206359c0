/*
 * The process joins the session
 *
 * Nothing happens before a program calls a verb. Then the process joins the
 * session of VERBATIM_DIR, and each thread that calls a verb gets a ring.
 *
 *	generation page:  N while recording; wiped to 0 in a forked child
 *	                  (MADV_WIPEONFORK); RECORD_OFF when recording has ended
 *	recorder:         a thread's ring, with the generation it was had in
 *
 * Equal numbers: record. Anything else: record_start() finds out why. So one
 * load tells a child from its parent, and "off" costs the same as "on".
 */
#include "shim/trace/ring/join.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/trace/ring/aside.h"
#include "shim/trace/ring/fault.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/interpose/process.h"
#include "shim/trace/ring/quiet.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/interpose/sandbox.h"
#include "shim/trace/ring/tap.h"
#include "shim/trace/ring/thread.h"

/* Nobody has asked yet whether this process is recorded. */
#define UNKNOWN (UINT32_MAX - 2)

/* else the pid of the process whose thread is joining: after a fork not the child's */
enum process_state { PROCESS_NEW, PROCESS_READY = -1, PROCESS_OFF = -2 };

static _Atomic uint32_t not_recording = UNKNOWN;
_Atomic(_Atomic uint32_t *) record_page = &not_recording;
_Atomic uint32_t record_clock;

struct session join_session;
static _Atomic uint32_t *generation_page;
static uint32_t last_generation;
static pid_t recorded_pid;
static _Atomic pid_t state; /* enum process_state */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct quiet locked; /* of the thread that holds it */

/* Recording has ended for this process; what runs in other threads notices. */
void join_end(void)
{
	atomic_store(&state, PROCESS_OFF);
	*(generation_page ? generation_page : &not_recording) = RECORD_OFF;
}

bool join_is_over(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == PROCESS_OFF;
}

bool record_on(void)
{
	uint32_t now = record_generation();

	return now && now != RECORD_OFF && now != UNKNOWN;
}

void record_lock(void)
{
	struct quiet quiet;

	quiet_begin(&quiet); /* a signal handler's verb would wait for its own thread */
	pthread_mutex_lock(&lock);
	locked = quiet;
}

void record_unlock(void)
{
	struct quiet quiet = locked;

	pthread_mutex_unlock(&lock);
	quiet_end(&quiet);
}

bool record_trylock(void)
{
	struct quiet quiet;

	quiet_begin(&quiet);
	if (pthread_mutex_trylock(&lock)) {
		quiet_end(&quiet);
		return false;
	}
	locked = quiet;
	return true;
}

/* pthread_mutex_t survives fork only if nobody held it. */
static void before_fork(void)
{
	record_lock();
}

static void after_fork_parent(void)
{
	record_unlock();
}

static void after_fork_child(void)
{
	aside_forked();
	record_unlock();
	if (generation_page && *generation_page != RECORD_OFF)
		*generation_page = 0; /* where the kernel did not */
}

/*
 * What the program does before a fork may wait for a thread that needs the
 * lock. What is registered first runs last, so this is done before the program
 * does anything: all else has been done by then.
 */
__attribute__((constructor)) static void watch_forks(void)
{
	process_watch_forks();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	process_announce_forks();
}

static int make_generation_page(void)
{
	void *page = mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	madvise(page, RING_PAGE, MADV_WIPEONFORK);
	generation_page = page;
	return 0;
}

/* That of VERBATIM_DIR; without one a tap has its own. */
static bool find_session(void)
{
	const char *dir = getenv(SESSION_ENV);

	if (!dir || !*dir) {
		if (tap_get())
			session_alone(&join_session);
		return tap_get();
	}
	if (session_join_or_make(&join_session, dir))
		return false;
	if (join_session.page->lttng)
		tap_load();
	return true;
}

/* Once an image, what stays over fork; which may have cut it short: each step is one of its own. */
static bool join(void)
{
	static bool joined, announced;

	if (!joined && !find_session())
		return false;
	joined = true;
	if (!session_running(&join_session) || !thread_watch_ends())
		return false;
	atomic_store_explicit(&record_clock, join_session.page->clock.kind, memory_order_relaxed);
	if (!announced)
		process_announce_exit();
	if (!announced && !session_is_alone(&join_session))
		fault_begin();
	announced = true;
	return !make_generation_page();
}

/* A new process: the first, or a child that goes on with its parent's image. */
static bool process_start(void)
{
	bool child;

	if (!generation_page && !join())
		return false;
	child = recorded_pid && recorded_pid != getpid();
	rings_begin(&join_session);
	payload_begin(&join_session.page->payload, child);
	if (payload_on)
		sandbox_begin(join_session.page->filters, child);
	process_begin(recorded_pid);
	recorded_pid = getpid();
	*generation_page = ++last_generation;
	/* pairs with the load in record_generation() */
	atomic_store_explicit(&record_page, generation_page, memory_order_release);
	return true;
}

/* One thread does it, the others wait; false: this process is not recorded. */
bool join_process(void)
{
	pid_t me = getpid(), found;
	bool ok;

	do {
		while ((found = atomic_load(&state)) == me)
			sched_yield();
		if (found == PROCESS_OFF)
			return false;
		if (found == PROCESS_READY && *generation_page)
			return true;
	} while (!atomic_compare_exchange_strong(&state, &found, me));
	/* another thread may have been through with it before we came to the exchange */
	ok = (found == PROCESS_READY && *generation_page) || process_start();
	if (ok)
		atomic_store(&state, PROCESS_READY);
	else
		join_end();
	return ok;
}
