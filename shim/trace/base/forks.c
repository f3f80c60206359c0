/*
 * Holders (threads during whose work no fork should happen), and the thread that forks
 *
 *	forks_hold()      holders + 1, after waiting for a fork in progress
 *	forks_before()    sets forking, then waits for the holders
 *
 * Each side writes its own word first and then reads the other's, so one of them sees the other.
 *
 * A holder may need a lock that the forking thread holds: the loader's, if it forks in a
 * constructor, or malloc()'s, which a handler of pthread_atfork() has locked. So if a holder makes
 * no progress, the forking thread waits only a short time. Then it forks, and in the child
 * forks_is_torn() forbids the use of the loader.
 */
#include "shim/trace/base/forks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/clock.h"
#include "shim/trace/base/permit.h"

enum { YIELDS = 100, PAUSE_NS = 20 * 1000 };

#define IDLE_NS UINT64_C(2000000000)  /* limit for a holder that waits for a lock */
#define MOST_NS UINT64_C(20000000000) /* limit for a holder that runs */

static atomic_uint holders; /* number of threads that hold forks */
/* the thread that was the last holder; the last one that forked */
static _Atomic pid_t holder, forker;
/* the process that is forking; it differs in a child that another thread created */
static _Atomic pid_t forking;
/* number of other holders that were still there at the last fork */
static unsigned int left;
static bool tore;

static __thread unsigned int held __attribute__((tls_model("initial-exec")));

bool forks_is_forking(void)
{
	pid_t pid = atomic_load(&forking);

	return pid && pid == permit_getpid();
}

bool forks_is_torn(void)
{
	return tore;
}

/*
 * Wait a little: yield at first, then sleep by a bare system call, since nanosleep() is a
 * cancellation point.
 */
static void back_off_once(int turn)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (turn < YIELDS)
		permit_sched_yield();
	else if (permit_has(NEED_FORK))
		syscall(SYS_nanosleep, &pause, NULL);
}

static pid_t own_thread(void)
{
	return permit_has(NEED_IDS) ? gettid() : 0;
}

/* The processor time of a thread, which does not increase while it waits. */
static uint64_t thread_time(pid_t thread)
{
	/* the same encoding as in libc */
	const unsigned int clock = ~(unsigned int)thread << 3 | 6;
	struct timespec time = { 0 };

	if (permit_has(NEED_FORK))
		syscall(SYS_clock_gettime, (clockid_t)clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * Wait while @busy returns true, as long as @thread makes progress. Returns whether it has ended.
 */
static bool wait_while(bool (*busy)(void), const _Atomic pid_t *thread)
{
	const uint64_t start = clock_monotonic();
	uint64_t now = start, ran_at = start, ran = 0, runs;
	int saved = errno;
	bool over;

	for (int i = 0; !(over = !busy()) && now - ran_at < IDLE_NS && now - start < MOST_NS; i++) {
		back_off_once(i);
		now = clock_monotonic();
		runs = thread_time(atomic_load(thread));
		if (runs != ran)
			ran_at = now;
		ran = runs;
	}
	errno = saved;
	return over;
}

void forks_hold(void)
{
	if (held++)
		return;
	/* pairs with the load in count_others() */
	while (atomic_fetch_add(&holders, 1), forks_is_forking()) {
		atomic_fetch_sub(&holders, 1);
		if (wait_while(forks_is_forking, &forker))
			continue;
		atomic_fetch_add(&holders, 1);
		break;
	}
	atomic_store(&holder, own_thread());
}

void forks_release(void)
{
	if (!--held)
		atomic_fetch_sub(&holders, 1);
}

static unsigned int count_others(void)
{
	return atomic_load(&holders) - !!held;
}

/*
 * Are there other holders? One for which the wait timed out (a longjmp() may have left it) is not
 * waited for again.
 */
static bool others_hold(void)
{
	return count_others() > left;
}

void forks_before(void)
{
	atomic_store(&forker, own_thread());
	atomic_store(&forking, permit_getpid());
	if (count_others() < left)
		left = count_others();
	wait_while(others_hold, &holder);
	left = count_others();
	if (!held++) /* later handlers do not wait for the fork */
		atomic_fetch_add(&holders, 1);
}

void forks_after_parent(void)
{
	forks_release();
	atomic_store(&forking, 0);
}

void forks_after_child(void)
{
	tore |= count_others() > 0;
	held--;
	left = 0;
	atomic_store(&holders, !!held);
	atomic_store(&forking, 0);
}
