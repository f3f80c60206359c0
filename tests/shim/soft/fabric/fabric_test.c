#include "shim/soft/fabric/fabric.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/soft/fabric/registry.h"
#include "tests/test.h"

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !ibv_open_device(list[0]))
		_exit(2);
}

/* As a signal handler does that has interrupted a verb. */
TEST(exit_does_not_wait_for_its_own_thread)
{
	pid_t child = fork();
	int status;

	if (!child) {
		alarm(60);
		open_device();
		pthread_mutex_lock(&registry_mutex);
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
