#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "shim/soft/fabric/lock.h"
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
