/*
 * Copying payload to its buffers if the program does not poll
 *
 * The payload of a short message is sent together with its completion, and the poll of the
 * completion copies it. A program that does not poll must get the payload, too: it may watch the
 * bytes in memory, or use a buffer too early. So a thread checks each completion queue:
 *
 *	asleep --(a sender sends payload and wakes the thread)--> awake
 *
 *	awake, at each check:	entries, and none was polled since the last check
 *					-> copy their payload; senders write to memory from now on
 *				nothing new in QUIET checks
 *					-> asleep
 *
 * When an entry is polled again, or when the queue is asleep, payload is sent with completions
 * again.
 *
 * If entries are polled at once, as in a ping-pong, the thread finds nothing to do, does not take
 * the lock of polls, and makes one check every PERIOD_MAX. Without the thread, senders write all
 * payload to memory (shm_cq.written).
 *
 * The thread writes to the program's memory by system calls: an unmapped page then causes an error,
 * not a signal.
 */
#include "shim/soft/verbs/land.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/soft/fabric/thread.h"
#include "shim/soft/transport/objects.h"
#include "shim/soft/verbs/poll.h"

enum {
	PERIOD_MIN = 100000, /* ns between checks; doubled up to */
	PERIOD_MAX = 3200000,
	QUIET = 8,
};

/* The object mutex protects these variables. */
static pthread_t lander;
static bool running;
static uint16_t awake[SHM_CQ_MAX]; /* slots of the CQs that are awake */
static unsigned int num_awake;

static bool stopping;

/* Mark the queue as asleep. False: an entry was added in between, or is being added. */
static bool mark_asleep(struct soft_cq *cq)
{
	bool sleeps;

	if (!lock_try(&cq->shm->lock))
		return false;
	sleeps = cq->shm->prod == cq->landing.prod;
	if (sleeps) {
		poll_set_written(cq, false);
		cq->shm->flags |= SHM_CQ_ASLEEP;
		cq->landing.awake = false;
	}
	lock_drop(&cq->shm->lock);
	return sleeps;
}

/* Check an awake queue. False: it is asleep now. */
static bool check_queue(struct soft_cq *cq)
{
	struct soft_landing *l = &cq->landing;
	uint32_t cons = __atomic_load_n(&cq->cons, __ATOMIC_RELAXED);
	/* pairs with the store_release of cqring_commit() */
	uint32_t prod = __atomic_load_n(&cq->shm->prod, __ATOMIC_ACQUIRE);
	bool stuck = cons == l->cons && cons != prod;

	if (stuck && cq->shm->landed != prod)
		poll_copy_new_payload(cq);
	if (stuck)
		poll_set_written(cq, true);
	l->quiet = prod == l->prod ? l->quiet + 1 : 0;
	l->cons = cons;
	l->prod = prod;
	return l->quiet < QUIET || (cons != prod && cq->shm->landed != prod) || !mark_asleep(cq);
}

/* Callers of this and the next function hold the object mutex. */
static void check_queues(void)
{
	unsigned int i, left = 0;
	struct soft_cq *cq;

	for (i = 0; i < num_awake; i++) {
		cq = soft_cqs[awake[i]];
		if (cq && cq->landing.awake && check_queue(cq))
			awake[left++] = awake[i];
	}
	num_awake = left;
}

static void find_awake_cqs(void)
{
	uint32_t i, cqs = soft_slots_end(&soft_cq_slots);
	struct soft_cq *cq;

	for (i = 0; i < cqs; i++) {
		cq = soft_cqs[i];
		if (!cq || cq->landing.awake || cqring_sleeps(&cq->ring))
			continue;
		cq->landing = (struct soft_landing){ .awake = true };
		cq->landing.cons = __atomic_load_n(&cq->cons, __ATOMIC_RELAXED);
		awake[num_awake++] = i;
	}
}

/* Copy all payload now: a sender has requested it, since its RDMA must not overtake the payload. */
static void copy_payload_now(void)
{
	unsigned int i;

	for (i = 0; i < num_awake; i++)
		if (soft_cqs[awake[i]])
			poll_copy_new_payload(soft_cqs[awake[i]]);
}

/* Sleep until a sender wakes the thread, or until @next (ns; 0: without limit). */
static void sleep_until(uint32_t seen, uint64_t next)
{
	uint64_t now = next ? process_now() : 0;
	struct timespec ts = { .tv_nsec = next - now };

	if (now < next || !next)
		syscall(SYS_futex, &segment_own->payload_waits, FUTEX_WAIT, seen, next ? &ts : NULL,
			NULL, 0);
}

static bool is_stopping(void)
{
	return __atomic_load_n(&stopping, __ATOMIC_ACQUIRE);
}

static void *run_copying(void *unused)
{
	uint64_t period = PERIOD_MIN, next = 0;
	uint32_t calls, seen = 0, asked, answered = 0;

	while (!is_stopping()) {
		pthread_mutex_lock(&soft_mutex);
		/* pairs with the add of cqring_wake() */
		calls = __atomic_load_n(&segment_own->payload_waits, __ATOMIC_SEQ_CST);
		if (calls != seen) {
			find_awake_cqs();
			period = PERIOD_MIN;
			next = process_now() + period;
		} else if (process_now() >= next) {
			check_queues();
			if (period < PERIOD_MAX)
				period *= 2;
			next = num_awake ? process_now() + period : 0;
		}
		seen = calls;
		/* senders write this before they count the call */
		asked = __atomic_load_n(&segment_own->payload_asked, __ATOMIC_RELAXED);
		if (asked != answered)
			copy_payload_now();
		answered = asked;
		pthread_mutex_unlock(&soft_mutex);
		sleep_until(seen, next);
	}
	return unused;
}

/* From now on, payload may be sent with completions of all existing queues. */
static void start_thread_locked(void)
{
	unsigned int i;

	stopping = false;
	num_awake = 0;
	__atomic_store_n(&running, thread_start(run_copying, NULL, &lander), __ATOMIC_RELAXED);
	if (!running)
		return;
	for (i = 0; i < SHM_CQ_MAX; i++)
		if (soft_cqs[i])
			poll_set_written(soft_cqs[i], false);
}

void copy_thread_start_for(const struct peer *peer)
{
	if ((peer && peer->seg == segment_own) || __atomic_load_n(&running, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&soft_mutex);
	if (!running)
		start_thread_locked();
	pthread_mutex_unlock(&soft_mutex);
}

bool copy_thread_is_running(void)
{
	return running;
}

/* End the thread. It sleeps on a word that peers can write: wake it until it has ended. */
void copy_thread_stop(void)
{
	struct timespec limit;

	if (!running)
		return;
	__atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
	do {
		cqring_wake_copy_thread(segment_own);
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec++;
	} while (pthread_timedjoin_np(lander, NULL, &limit) == ETIMEDOUT);
	running = false;
}

void copy_thread_forget(void)
{
	running = false;
}
