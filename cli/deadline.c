/*
 * --deadline: a command ends, however far it came
 *
 * What reads the trace looks at the time itself, ends its work and tidies up.
 * What does not look (a terminal that takes nothing, a replay that waits for a
 * device) is given a second more, and then the process ends.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/store/db/deadline.h"

static struct timespec last;

static void *end_all(void *arg)
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
	if (!pthread_create(&thread, NULL, end_all, NULL))
		pthread_detach(thread);
}
