#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "shim/soft/fabric/lock.h"
#include "shim/soft/fabric/segment.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* Another process takes it, and waits. */
static struct lock *lock_of_another_process(pid_t *ret_pid)
{
	struct lock *lock =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char byte;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		open_context();
		lock_take(lock);
		if (write(fds[1], "x", 1) == 1)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	*ret_pid = pid;
	return lock;
}

static struct lock *lock_of_a_dead_process(void)
{
	pid_t pid;
	struct lock *lock = lock_of_another_process(&pid);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return lock;
}

static void take_over(struct lock *lock)
{
	assert_false(lock_try(lock));
	lock_take(lock);
	assert_int_equal(lock->owner, lock_self);
	lock_drop(lock);
	munmap(lock, 4096);
}

GROUP(fabric_setup, fabric_teardown);

TEST(lock_of_the_dead_is_taken_over)
{
	struct ibv_context *context = open_context();

	take_over(lock_of_a_dead_process());
	assert_int_equal(ibv_close_device(context), 0);
}

/* We come after it, and get its place in the fabric. */
TEST(place_of_the_dead_is_not_its_lock)
{
	struct lock *lock = lock_of_a_dead_process();
	struct ibv_context *context = open_context();

	take_over(lock);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(garbage_is_nobody)
{
	struct ibv_context *context = open_context();
	struct lock lock;
	uint32_t word;

	for (word = 1; word < UINT32_MAX / 2; word = word * 5 + 3) {
		lock.owner = word == lock_self ? 1 : word;
		lock_take(&lock);
		lock_drop(&lock);
	}
	assert_int_equal(ibv_close_device(context), 0);
}

/* A thread that waits for a lock. */
struct waiter {
	struct lock *lock;
	bool is_stuck, has_ended;
};

static void *wait_for_lock(void *of)
{
	struct waiter *waiter = of;

	waiter->is_stuck = lock_is_stuck(waiter->lock);
	__atomic_store_n(&waiter->has_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Until it has used 20 ms of a processor, or has ended; it checks the owner every 512 yields. */
static bool still_waits(struct waiter *waiter, pthread_t thread)
{
	struct timespec used = { 0 };
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	while (!__atomic_load_n(&waiter->has_ended, __ATOMIC_ACQUIRE) && used.tv_nsec < 20000000 &&
	       !clock_gettime(clock, &used))
		sched_yield();
	return !__atomic_load_n(&waiter->has_ended, __ATOMIC_ACQUIRE);
}

TEST(lock_of_a_running_process_is_waited_for)
{
	struct ibv_context *context = open_context();
	pthread_t thread;
	pid_t pid;
	struct waiter waiter = { .lock = lock_of_another_process(&pid), .is_stuck = true };

	assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &waiter), 0);
	assert_true(still_waits(&waiter, thread));
	lock_drop(waiter.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(waiter.is_stuck);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(waiter.lock, 4096);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(lock_of_a_stopped_process_is_stuck)
{
	struct ibv_context *context = open_context();
	pid_t pid;
	struct lock *lock = lock_of_another_process(&pid);
	int status;

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(lock_is_stuck(lock));
	assert_int_equal(lock_take_live(lock), LOCK_STUCK);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(lock_is_stuck(lock));
	assert_int_equal(lock_take_live(lock), LOCK_HALF_DONE);
	assert_false(lock_is_stuck(lock)); /* it is ours */
	lock_drop(lock);
	assert_int_equal(lock_take_live(lock), LOCK_TAKEN);
	lock_drop(lock);
	munmap(lock, 4096);
	assert_int_equal(ibv_close_device(context), 0);
}

static uint64_t bits[2];
static struct lock quiet;

static bool bit_is_set(void)
{
	return bits[1] == 1ull << 6;
}

static void make_quiet(void)
{
	bits[0] = bits[1] = 0;
	quiet.owner = 0;
	assert_true(lock_make_quiet(&quiet, lock_bit(bits, 70)));
}

TEST(who_takes_a_quiet_lock_sets_its_bit)
{
	struct ibv_context *context = open_context();

	make_quiet();
	assert_false(lock_try(&quiet));
	assert_false(lock_is_stuck(&quiet));
	assert_false(lock_wait_with(&quiet, lock_bit(bits, 70)));
	assert_true(bit_is_set() && quiet.owner == lock_self);
	lock_drop(&quiet);

	make_quiet();
	assert_int_equal(lock_wait_live(&quiet, lock_bit(bits, 70)), LOCK_TAKEN);
	assert_true(bit_is_set() && !bits[0]);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(a_taken_lock_is_not_made_quiet)
{
	struct ibv_context *context = open_context();

	make_quiet();
	assert_true(lock_wake(&quiet, lock_bit(bits, 70)));
	assert_false(lock_make_quiet(&quiet, lock_bit(bits, 70)));
	assert_true(bit_is_set() && quiet.owner == lock_self);
	assert_false(lock_wake(&quiet, lock_bit(bits, 70)));
	lock_drop(&quiet);
	assert_int_equal(ibv_close_device(context), 0);
}

/* The owner may have taken a quiet lock, and died before it set the bit. */
TEST(who_takes_over_a_lock_sets_its_bit)
{
	struct ibv_context *context = open_context();
	struct lock *lock = lock_of_a_dead_process();

	bits[0] = bits[1] = 0;
	assert_true(lock_wait_with(lock, lock_bit(bits, 70)));
	assert_true(bit_is_set());
	munmap(lock, 4096);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(locks_of_the_own_queue_pairs_have_bits)
{
	struct ibv_context *context = open_context();
	struct lock *lock = &segment_own->qp[70].rq.lock;
	struct lock_bit bit = lock_bit(segment_own->active, 70);

	assert_true(lock_make_quiet(lock, bit));
	assert_false(*bit.word & bit.mask);
	lock_take(lock);
	assert_true(*bit.word & bit.mask);
	lock_drop(lock);
	assert_true(lock_make_quiet(lock, bit)); /* as it is without queue pairs */
	lock->owner = 0;
	assert_int_equal(ibv_close_device(context), 0);
}

enum { TURNS = 20000 };

static uint32_t key, gone, used_late;

/* A user of a key, as a queue pair is. */
static void *use_key(void *arg)
{
	struct lock_bit bit = lock_bit(bits, 70);

	(void)arg;
	for (int i = 0; i < TURNS; i++) {
		if (!lock_try(&quiet))
			lock_wait_with(&quiet, bit);
		if (__atomic_load_n(&key, __ATOMIC_ACQUIRE))
			used_late += __atomic_load_n(&gone, __ATOMIC_RELAXED);
		lock_drop(&quiet);
	}
	return NULL;
}

/* Remove the key, as ibv_dereg_mr() does: look at the lock only if its bit is set. */
static void withdraw_key(void)
{
	struct lock_bit bit = lock_bit(bits, 70);

	__atomic_store_n(&key, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(bit.word, __ATOMIC_RELAXED) & bit.mask &&
	    !lock_make_quiet(&quiet, bit)) {
		if (!lock_try(&quiet))
			lock_wait_with(&quiet, bit);
		lock_drop(&quiet);
	}
	__atomic_store_n(&gone, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&gone, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&key, 1, __ATOMIC_RELEASE);
}

TEST(no_user_is_overlooked)
{
	struct ibv_context *context = open_context();
	pthread_t user[2];

	make_quiet();
	key = 1;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&user[i], NULL, use_key, NULL), 0);
	for (int i = 0; i < TURNS; i++)
		withdraw_key();
	for (int i = 0; i < 2; i++)
		pthread_join(user[i], NULL);
	assert_int_equal(used_late, 0);
	assert_int_equal(ibv_close_device(context), 0);
}
