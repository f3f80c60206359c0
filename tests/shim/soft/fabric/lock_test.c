#include <signal.h>
#include <sys/wait.h>

#include "shim/soft/fabric/lock.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* Another process takes it and is killed. */
static struct lock *lock_of_a_dead_process(void)
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
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
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
