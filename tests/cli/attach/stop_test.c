#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/attach/memory.h"
#include "cli/attach/stop.h"
#include "cli/attach/target.h"
#include "tests/test.h"

TEST(calls_that_fail_with_eintr_are_not_interrupted)
{
	static struct target_fd fds[] = { { 3, TARGET_FD_SOCKET, NULL },
					  { 4, TARGET_FD_OTHER, NULL } };
	const struct target target = { .fds = fds, .nfds = 2 };
	const uint64_t socket[6] = { 3 }, file[6] = { 4 }, closed[6] = { 5 };

	assert_true(stop_is_visible(&target, SYS_epoll_pwait, file));
	assert_true(stop_is_visible(&target, SYS_semtimedop, file));
	assert_true(stop_is_visible(&target, SYS_read, socket));
	assert_true(stop_is_visible(&target, SYS_read, closed));
	assert_false(stop_is_visible(&target, SYS_read, file));
	assert_false(stop_is_visible(&target, SYS_futex, file));
	assert_false(stop_is_visible(&target, SYS_ppoll, file));
}

/* A child that sleeps in read(); its end of the pipe is closed to end it. */
static pid_t start_child(int *ret_fd)
{
	int fds[2], ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(fds) | pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(fds[0], &byte, 1) ? 1 : 0);
	}
	close(fds[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	*ret_fd = fds[1];
	return pid;
}

TEST(stopped_thread_goes_on_with_its_system_call)
{
	struct stop *stops;
	struct target target;
	struct memory memory = { .read = memory_read_process };
	int fd, status;

	memory.pid = start_child(&fd);
	assert_int_equal(target_read(memory.pid, &target), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(stop_all(&target, &memory, true, &stops), 0);
		if (!stops[0].why) {
			assert_true(stops[0].nregisters && stops[0].sp && stops[0].pc);
			assert_true(stops[0].nstack > 0);
		}
		stop_free(stops, target.nthreads);
	}
	target_fini(&target);
	close(fd);
	assert_int_equal(waitpid(memory.pid, &status, 0), memory.pid);
	assert_int_equal(status, 0);
}

TEST(no_thread_is_stopped_if_not_asked_for)
{
	struct stop *stops;
	struct target target;
	struct memory memory = { .read = memory_read_process };
	int fd;

	memory.pid = start_child(&fd);
	assert_int_equal(target_read(memory.pid, &target), 0);
	assert_int_equal(stop_all(&target, &memory, false, &stops), 0);
	assert_non_null(stops[0].why);
	assert_int_equal(stops[0].nregisters, 0);
	assert_int_equal(stops[0].ns, 0);
	stop_free(stops, target.nthreads);
	target_fini(&target);
	close(fd);
	waitpid(memory.pid, NULL, 0);
}

TEST(free_accepts_null)
{
	stop_free(NULL, 3);
}
