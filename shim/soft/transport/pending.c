/*
 * Retrying send queues that wait
 *
 * Every empty poll retries them. For programs that sleep there is a thread, which runs while a
 * queue waits, and a little longer, since a queue that has waited often waits again.
 *
 * Lock order: the list's mutex, then a send queue's lock. The latter is taken only by lock_try(),
 * because posts add to the list while they hold it.
 */
#include "shim/soft/transport/pending.h"

#include <sys/prctl.h>
#include <time.h>

#include "shim/soft/fabric/thread.h"
#include "shim/soft/transport/sq.h"

enum {
	PERIOD_MIN = 200000, /* ns; doubled after each retry, up to */
	PERIOD_MAX = 5000000,
	RETRY_NS = 10000,  /* ns: minimum time between retries */
	IDLE_PERIODS = 20, /* periods without work after which the thread ends */
	/* with more polls than this between two posts, the program counts as polling */
	OFTEN = 8,
};

unsigned int pending_count;
bool (*pending_receive)(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sooner; /* signals that a timer expires before the next retry */
static struct soft_qp *list;
static bool running;
static uint64_t due = UINT64_MAX;      /* ns: when the first timer of a queue expires */
static unsigned int tries, seen_tries; /* number of retries by polls */

static bool retry_queue(struct soft_qp *qp)
{
	bool waits;

	if (!sq_try_lock(&qp->sq))
		return true;
	sq_run(qp);
	waits = sq_waits(&qp->sq);
	if (qp->sq.wait == WAIT_HELD && qp->sq.wait_until < due)
		due = qp->sq.wait_until;
	qp->listed = waits;
	lock_drop(&qp->sq.lock);
	return waits;
}

static void unlink_queue_at(struct soft_qp **p)
{
	*p = (*p)->next_listed;
	__atomic_sub_fetch(&pending_count, 1, __ATOMIC_RELAXED);
}

static void retry_queues(void)
{
	struct soft_qp **p = &list;

	due = UINT64_MAX;
	while (*p) {
		if (retry_queue(*p))
			p = &(*p)->next_listed;
		else
			unlink_queue_at(p);
	}
}

void pending_try(void)
{
	if (stage_is_requested())
		stage_serve();
	if (pthread_mutex_trylock(&mutex))
		return;
	tries++;
	retry_queues();
	pthread_mutex_unlock(&mutex);
}

static bool stop_if_idle(unsigned int *idle)
{
	bool stop;

	*idle = list ? 0 : *idle + 1;
	stop = *idle >= IDLE_PERIODS;
	if (stop)
		running = false;
	return stop;
}

/* ns until the next retry, or until the first timer expires if that is earlier. */
static long time_to_sleep(long period)
{
	uint64_t now = process_now();

	if (due == UINT64_MAX || due >= now + period)
		return period;
	return due > now + RETRY_NS ? (long)(due - now) : RETRY_NS;
}

/* Sleep for @ns or until wake_thread_earlier(). The mutex is released meanwhile. */
static void sleep_for(long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&sooner, &mutex, &until);
}

static void *run_retries(void *unused)
{
	long period = PERIOD_MIN;
	unsigned int idle = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&mutex);
	do {
		sleep_for(time_to_sleep(period));
		if (period < PERIOD_MAX)
			period *= 2;
		retry_queues();
	} while (!stop_if_idle(&idle));
	pthread_mutex_unlock(&mutex);
	return unused;
}

/*
 * Wake the thread for a timer that expires before its next retry, unless the program polls: polls
 * are even earlier.
 */
static void wake_thread_earlier(const struct soft_qp *qp)
{
	bool polls = tries - seen_tries > OFTEN;

	seen_tries = tries;
	if (qp->sq.wait != WAIT_HELD || qp->sq.wait_until >= due)
		return;
	due = qp->sq.wait_until;
	if (!polls)
		pthread_cond_signal(&sooner);
}

static bool start_thread(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sooner, &attr);
	pthread_condattr_destroy(&attr);
	return thread_start(run_retries, NULL, NULL);
}

/*
 * Also called after each retry, for a queue that is already in the list. It takes the mutex while
 * it holds the send queue's lock; so retry_queues() only tries that lock.
 */
void pending_add(struct soft_qp *qp)
{
	/* a queue on the network is woken by packets and timers */
	if (qp->listed || (qp->wire && !sq_waits(&qp->sq)))
		return;
	pthread_mutex_lock(&mutex);
	qp->listed = true;
	qp->next_listed = list;
	list = qp;
	__atomic_add_fetch(&pending_count, 1, __ATOMIC_RELAXED);
	if (!running)
		running = start_thread();
	wake_thread_earlier(qp);
	pthread_mutex_unlock(&mutex);
}

void pending_remove(struct soft_qp *qp)
{
	struct soft_qp **p;

	pthread_mutex_lock(&mutex);
	for (p = &list; *p && *p != qp; p = &(*p)->next_listed)
		;
	if (*p)
		unlink_queue_at(p);
	pthread_mutex_unlock(&mutex);
}

void pending_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	list = NULL;
	due = UINT64_MAX;
	pending_count = 0;
	running = false;
}
