/*
 * This process's recording
 *
 *	generation page:  N while recording; wiped to 0 in a forked child
 *	                  (MADV_WIPEONFORK); RECORDING_OFF when recording has ended
 *	recorder:         a thread's ring, with the generation in which it was created
 *
 * If both numbers are equal, a verb is recorded. Otherwise record_start finds out why they differ.
 * So one load distinguishes a child from its parent, and "off" costs the same as "on".
 *
 * Not here: how a process joins a session (join.c).
 */
#include "shim/trace/ring/recording.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "core/wire/ring.h"
#include "shim/trace/base/quiet.h"

/* Value until it is known whether this process is recorded. */
#define UNKNOWN (UINT32_MAX - 2)

static _Atomic uint32_t not_recording = UNKNOWN;
_Atomic(_Atomic uint32_t *) recording_page = &not_recording;

struct session recording_session;
static _Atomic uint32_t *generation_page;
static uint32_t last_generation;
static atomic_bool over;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct quiet locked; /* signal state of the thread that holds the lock */
static __thread bool holds __attribute__((tls_model("initial-exec")));
static __thread unsigned int nested __attribute__((tls_model("initial-exec")));

bool recording_is_on(void)
{
	uint32_t now = recording_generation();

	return now && now != RECORDING_OFF && now != UNKNOWN;
}

int recording_make_page(void)
{
	void *page =
		mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	madvise(page, RING_PAGE, MADV_WIPEONFORK);
	generation_page = page;
	return 0;
}

bool recording_has_page(void)
{
	return generation_page;
}

void recording_begin(void)
{
	*generation_page = ++last_generation;
	/* pairs with the load in recording_generation() */
	atomic_store_explicit(&recording_page, generation_page, memory_order_release);
}

void recording_end(void)
{
	atomic_store(&over, true);
	*(generation_page ? generation_page : &not_recording) = RECORDING_OFF;
}

void recording_reset(void)
{
	atomic_store(&over, false);
	if (generation_page)
		*generation_page = 0;
	else
		not_recording = UNKNOWN;
}

bool recording_is_over(void)
{
	return atomic_load_explicit(&over, memory_order_relaxed);
}

void recording_after_fork(void)
{
	if (generation_page && *generation_page != RECORDING_OFF)
		*generation_page = 0; /* in case the kernel did not wipe it */
}

void recording_lock(void)
{
	struct quiet quiet;

	/* this is a signal handler, which could not be blocked because of a filter (permit.h) */
	if (holds && !locked.masked) {
		nested++;
		return;
	}
	/* a verb of a signal handler would wait for the lock of its own thread */
	quiet_begin(&quiet);
	pthread_mutex_lock(&lock);
	locked = quiet;
	holds = true;
}

void recording_unlock(void)
{
	struct quiet quiet = locked;

	if (nested) {
		nested--;
		return;
	}
	holds = false;
	pthread_mutex_unlock(&lock);
	quiet_end(&quiet);
}

bool recording_lock_is_quiet(void)
{
	return locked.masked;
}

bool recording_trylock(void)
{
	struct quiet quiet;

	quiet_begin(&quiet);
	if (pthread_mutex_trylock(&lock)) {
		quiet_end(&quiet);
		return false;
	}
	locked = quiet;
	holds = true;
	return true;
}
