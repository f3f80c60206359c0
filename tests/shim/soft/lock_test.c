#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "shim/soft/lock.h"
#include "tests/shim/soft/pair.h"

static void lock_of_the_dead_is_taken_over(void **state)
{
	struct lock *lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ibv_context *context;
	char byte;
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		open_context();
		lock_take(lock);
		if (write(fds[1], "x", 1) == 1)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	context = open_context();
	assert_false(lock_try(lock));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	lock_take(lock);
	assert_int_equal(lock->owner, lock_self);
	lock_drop(lock);
	assert_int_equal(ibv_close_device(context), 0);
	munmap(lock, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_of_the_dead_is_taken_over),
	};

	return cmocka_run_group_tests(tests, fabric_setup, fabric_teardown);
}
