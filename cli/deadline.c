/*
 * --deadline: ends a command after a time, finished or not
 *
 * The code that reads the trace checks the time itself and ends properly. If nothing checks it (a
 * terminal that takes no output, a replay that waits for a device) the process exits a second
 * later.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/store/db/deadline.h"

static struct timespec last;

static void *end_at_deadline(void *arg)
{
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &last, NULL) == EINTR)
		;
	deadline_fail();
	_exit(CLI_TRACE);
	return arg;
}

void cli_deadline(int64_t ns)
{
	pthread_t thread;

	if (!ns)
		return;
	deadline_start((uint64_t)ns);
	clock_gettime(CLOCK_MONOTONIC, &last);
	last.tv_sec += (time_t)(ns / 1000000000) + 1;
	if (!pthread_create(&thread, NULL, end_at_deadline, NULL))
		pthread_detach(thread);
}
