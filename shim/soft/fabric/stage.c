/*
 * Copying by the owner of the memory
 *
 * If the kernel forbids process_vm_writev() (Yama, containers, seccomp), the process that executes
 * an operation stores the bytes in the segment of the target, a piece at a time, and the target
 * copies them; reads work in the reverse direction:
 *
 *	requester                       owner of the segment
 *	job: IDLE -> ASKED   asked = 1 ->
 *	                                ASKED -> SERVED, copy
 *	                             <- DONE
 *
 * A job is executed by any thread of the owner that polls, or that waits for its own job; or else
 * by the owner's helper. This thread is started when a peer that will need it connects, or when a
 * copy is requested; it sleeps most of the time. Copying takes no lock of the fabric, so the
 * requester may hold any lock.
 *
 * The requester can withdraw a job that has not begun, and tries the whole operation again later
 * (EXECUTE_LATER). The next requester withdraws the job of a dead one.
 *
 * The owner trusts no peer: it copies only to and from regions in its own private table, and checks
 * that the memory is still mapped.
 */
#include "shim/soft/fabric/stage.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/thread.h"

enum {
	SPINS = 2000,
	CHECK_PEER_NS = 1000000, /* ns between checks of whether the peer is alive */
	BEGIN_NS = 20000000,     /* ns until a job must have begun */
	STUCK_NS = 1000000000,   /* ns from then until the job must be done */
};

static pthread_mutex_t serving = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_t helper;
static bool running;
static uint32_t stopping;

/* The regions of this process, by slot: the private table of memory that peers may have copied. */
struct region {
	void *memory;
	size_t bytes; /* 0: no region in this slot */
};

static struct region regions[SHM_MR_MAX];
static uint32_t num_regions; /* entries from this index on were never used */

static void sleep_on(uint32_t *word, uint32_t value, const struct timespec *limit)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, limit, NULL, 0);
}

static void wake_sleepers(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void relax_cpu(unsigned int n)
{
	if (n % 64 == 63)
		sched_yield();
#if defined(__x86_64__) || defined(__i386__)
	else
		__builtin_ia32_pause();
#endif
}

/*
 * Wake the owner. Sequentially consistent with await_jobs(): at least one of the threads sees the
 * other's store.
 */
static void wake_owner(struct shm_stage *stage)
{
	__atomic_store_n(&stage->asked, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&stage->sleeping, __ATOMIC_SEQ_CST))
		wake_sleepers(&stage->asked);
}

/* Functions of the owner */

static bool region_holds(const struct region *region, uintptr_t addr, size_t len)
{
	/* pairs with the store_release of stage_add_region() */
	size_t bytes = __atomic_load_n(&region->bytes, __ATOMIC_ACQUIRE);
	uintptr_t off;

	if (!bytes)
		return false;
	off = addr - (uintptr_t)region->memory;
	return off <= bytes && len <= bytes - off;
}

/* Is the memory registered? Callers hold the serving mutex, as for removing a region. */
static bool is_registered(const struct iovec *iov)
{
	uint32_t i, n, count = __atomic_load_n(&num_regions, __ATOMIC_ACQUIRE);
	static uint32_t last;

	for (n = 0, i = last; n < count; n++, i++) {
		if (i >= count)
			i = 0;
		if (region_holds(&regions[i], (uintptr_t)iov->iov_base, iov->iov_len)) {
			last = i;
			return true;
		}
	}
	return false;
}

/* Copy the list of a job to private memory, and check it. */
static int read_job_list(const struct shm_job *job, bool write, struct copy_list *list,
			 size_t *ret_len)
{
	uint32_t i, count = __atomic_load_n(&job->count, __ATOMIC_RELAXED);
	size_t len = 0;

	if (count > SHM_SGE_MAX)
		return -EFAULT;
	memcpy(list->iov, job->iov, count * sizeof(*list->iov));
	list->count = count;
	list->nulls = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < count; i++) {
		if (list->iov[i].iov_len > SHM_JOB_BYTES - len || !is_registered(&list->iov[i]) ||
		    pages_populate(list->iov[i].iov_base, list->iov[i].iov_len, write))
			return -EFAULT;
		len += list->iov[i].iov_len;
	}
	*ret_len = len;
	return 0;
}

static int copy_job(struct shm_job *job)
{
	bool write = __atomic_load_n(&job->write, __ATOMIC_RELAXED);
	struct copy_list list;
	size_t len;
	int err;

	err = read_job_list(job, write, &list, &len);
	if (err < 0)
		return err;
	if (!write) {
		copy_list_gather(job->bytes, &list);
		return 0;
	}
	memcheck_mark_defined(job->bytes, len);
	copy_list_scatter(&list, job->bytes, len);
	return 0;
}

static bool change_state(struct shm_job *job, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&job->state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static void serve_job(struct shm_job *job)
{
	/* pairs with the store in run_job() */
	if (!change_state(job, SHM_JOB_ASKED, SHM_JOB_SERVED))
		return;
	job->result = copy_job(job);
	__atomic_store_n(&job->state, SHM_JOB_DONE, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&job->waits, __ATOMIC_SEQ_CST))
		wake_sleepers(&job->state);
}

/* Execute the jobs of all peers. Callers hold the serving mutex. */
static void serve_all(void)
{
	struct shm_stage *stage = &segment_own->stage;
	unsigned int i;

	while (__atomic_exchange_n(&stage->asked, 0, __ATOMIC_SEQ_CST))
		for (i = 0; i < SHM_JOBS; i++)
			serve_job(&segment_own->job[i]);
}

/* Wait for a request: spin for a short time, then sleep. */
static void await_jobs(struct shm_stage *stage)
{
	unsigned int n;

	for (n = 0; n < SPINS; n++) {
		if (stage_is_requested())
			return;
		relax_cpu(n);
	}
	__atomic_store_n(&stage->sleeping, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&stage->asked, __ATOMIC_SEQ_CST))
		sleep_on(&stage->asked, 0, NULL);
	__atomic_store_n(&stage->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void *run_helper(void *unused)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&serving);
		serve_all();
		pthread_mutex_unlock(&serving);
		await_jobs(&segment_own->stage);
	}
	return unused;
}

static void start_helper_locked(void)
{
	struct shm_stage *stage = &segment_own->stage;

	if (segment_reserve(segment_own->job, sizeof(segment_own->job)) < 0)
		return; /* the requester will time out */
	stopping = 0;
	running = thread_start(run_helper, NULL, &helper);
	if (running)
		/* pairs with the load in claim_job() */
		__atomic_store_n(&stage->ready, 1, __ATOMIC_RELEASE);
}

static void start_helper(void)
{
	pthread_mutex_lock(&starting);
	if (!running)
		start_helper_locked();
	pthread_mutex_unlock(&starting);
}

void stage_serve(void)
{
	if (!__atomic_load_n(&segment_own->stage.ready, __ATOMIC_RELAXED))
		start_helper();
	if (pthread_mutex_trylock(&serving))
		return;
	serve_all();
	pthread_mutex_unlock(&serving);
}

/* Callers of this and the next two functions hold the object mutex. */
void stage_add_region(uint32_t slot, void *memory, size_t bytes)
{
	regions[slot].memory = memory;
	__atomic_store_n(&regions[slot].bytes, bytes, __ATOMIC_RELEASE);
	if (slot >= num_regions)
		__atomic_store_n(&num_regions, slot + 1, __ATOMIC_RELEASE);
}

void stage_move_region(uint32_t slot, void *memory, size_t bytes)
{
	pthread_mutex_lock(&serving);
	regions[slot] = (struct region){ memory, bytes };
	pthread_mutex_unlock(&serving);
}

void stage_remove_region(uint32_t slot)
{
	stage_move_region(slot, NULL, 0);
}

/*
 * Wait for the helper to end. It sleeps on a word that peers can write: wake it until it has ended.
 */
static void join_helper(void)
{
	struct timespec limit;

	do {
		__atomic_store_n(&segment_own->stage.asked, 1, __ATOMIC_SEQ_CST);
		wake_sleepers(&segment_own->stage.asked);
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec++;
	} while (pthread_timedjoin_np(helper, NULL, &limit) == ETIMEDOUT);
}

void stage_stop(void)
{
	pthread_mutex_lock(&starting);
	if (running) {
		__atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
		join_helper();
	}
	running = false;
	pthread_mutex_unlock(&starting);
}

void stage_forget(void)
{
	pthread_mutex_init(&serving, NULL);
	pthread_mutex_init(&starting, NULL);
	running = false;
	memset(regions, 0, num_regions * sizeof(regions[0]));
	num_regions = 0;
}

/* Functions of the requester */

/*
 * If the kernel forbids this process to copy to a peer, it probably also forbids the peer to copy
 * to this process.
 */
void stage_expect(const struct peer *peer)
{
	if (peer->seg != segment_own &&
	    (peer->forbidden || peer->seg->stage.forbidden || process_vm_is_forbidden(peer->pid)))
		start_helper();
}

/* Is @job free? Withdraw the job of a dead requester first. */
static bool is_free(struct shm_job *job)
{
	uint32_t state = __atomic_load_n(&job->state, __ATOMIC_ACQUIRE);

	return state == SHM_JOB_IDLE ||
	       (state != SHM_JOB_SERVED && change_state(job, state, SHM_JOB_IDLE));
}

static struct shm_job *claim_job(struct shm_seg *seg)
{
	struct shm_job *job;
	unsigned int i;

	/* pairs with the store in start_helper_locked() */
	if (!__atomic_load_n(&seg->stage.ready, __ATOMIC_ACQUIRE)) {
		wake_owner(&seg->stage);
		return NULL;
	}
	for (i = 0; i < SHM_JOBS; i++)
		if (lock_try(&seg->job[i].lock))
			break;
	job = &seg->job[i % SHM_JOBS];
	if (i == SHM_JOBS)
		lock_take(&job->lock);
	if (is_free(job))
		return job;
	lock_drop(&job->lock);
	return NULL;
}

/* Sleep for a short time, or until the state of @job differs from @state. */
static void await_change(struct shm_job *job, uint32_t state)
{
	struct timespec limit = { .tv_nsec = CHECK_PEER_NS };

	__atomic_store_n(&job->waits, 1, __ATOMIC_SEQ_CST);
	sleep_on(&job->state, state, &limit);
	__atomic_store_n(&job->waits, 0, __ATOMIC_SEQ_CST);
}

static int await_job(struct peer *peer, struct shm_job *job)
{
	uint64_t passed, since = process_now();
	unsigned int n;
	uint32_t state;

	for (n = 0;; n++) {
		/* pairs with the store in serve_job() */
		state = __atomic_load_n(&job->state, __ATOMIC_SEQ_CST);
		if (state == SHM_JOB_DONE)
			return 0;
		if (stage_is_requested())
			stage_serve();
		if (n < SPINS) {
			relax_cpu(n);
			continue;
		}
		await_change(job, state);
		if (!peer_check_alive(peer))
			return -ESRCH;
		passed = process_now() - since;
		if ((passed > BEGIN_NS && change_state(job, SHM_JOB_ASKED, SHM_JOB_IDLE)) ||
		    passed > STUCK_NS)
			return -EAGAIN;
	}
}

static int run_job(struct peer *peer, struct shm_job *job, bool write,
		   const struct copy_list *there)
{
	int err;

	job->write = write;
	job->count = there->count;
	memcpy(job->iov, there->iov, there->count * sizeof(*there->iov));
	__atomic_store_n(&job->state, SHM_JOB_ASKED, __ATOMIC_SEQ_CST);
	wake_owner(&peer->seg->stage);
	err = await_job(peer, job);
	if (err < 0)
		return err;
	return job->result ? -EFAULT : 0;
}

static int move_piece(struct peer *peer, struct shm_job *job, bool write,
		      const struct copy_list *here, const struct copy_list *there, size_t len)
{
	int err;

	if (write)
		copy_list_gather(job->bytes, here);
	err = run_job(peer, job, write, there);
	if (err || write)
		return err;
	memcheck_mark_defined(job->bytes, len);
	copy_list_scatter(here, job->bytes, len);
	return 0;
}

static int move_lists(struct peer *peer, bool write, struct copy_list *local,
		      struct copy_list *remote)
{
	struct shm_job *job = claim_job(peer->seg);
	struct copy_list here, there;
	int err = 0;
	size_t len;

	if (!job)
		return peer_check_alive(peer) ? -EAGAIN : -ESRCH;
	while (!err && (len = copy_list_cut(remote, SHM_JOB_BYTES, &there))) {
		copy_list_cut(local, len, &here);
		err = move_piece(peer, job, write, &here, &there, len);
	}
	is_free(job);
	lock_drop(&job->lock);
	return err;
}

int stage_put(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	return move_lists(peer, true, local, remote);
}

int stage_get(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	return move_lists(peer, false, local, remote);
}
