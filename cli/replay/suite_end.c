/*
 * What ends a suite early
 *
 *	signal or deadline -> the same signal (of a deadline: SIGTERM) to the replays that run
 *	                   --10 s, or a second signal--> SIGKILL
 *	                   --10 s, or a third--> they are left: a process that waits in the kernel
 *	                                         may not end
 */
#include "cli/replay/suite_end.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "core/wire/clock.h"

#define SECOND 1000000000ULL

enum { GRACE = 10 }; /* s: a replay that hangs in its device needs one to end itself */

static const struct {
	int number;
	const char *name;
} ends[] = { { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" } };

/* An ignored signal, as under nohup, stays ignored. */
void suite_end_begin(struct suite_end *end, int64_t deadline)
{
	struct sigaction old;

	*end = (struct suite_end){ .due = deadline ? clock_monotonic() + (uint64_t)deadline : 0 };
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&end->waited);
	sigaddset(&end->waited, SIGCHLD);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!sigaction(ends[i].number, NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&end->waited, ends[i].number);
	sigprocmask(SIG_BLOCK, &end->waited, &end->before);
}

/* End the suite because of @why. Returns the signal for the running replays. */
static int end_because(struct suite_end *end, const char *why, int number)
{
	end->hard = clock_monotonic() + GRACE * SECOND;
	if (!end->why) {
		end->why = why;
		return number;
	}
	end->given_up = end->killed;
	end->killed = true;
	return SIGKILL;
}

static int wait_for_signal(const struct suite_end *end)
{
	uint64_t now = clock_monotonic(), due = end->why ? end->hard : end->due;
	uint64_t left = due > now ? due - now : 0;
	struct timespec time = { (time_t)(left / SECOND), (long)(left % SECOND) };
	int number = sigtimedwait(&end->waited, NULL, due ? &time : NULL);

	return number < 0 ? -errno : number;
}

int suite_end_wait(struct suite_end *end)
{
	int number = wait_for_signal(end);

	if (number == -EAGAIN)
		return end_because(end, "--deadline", SIGTERM);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i].number == number) {
			end->number = end->number ?: number;
			return end_because(end, ends[i].name, number);
		}
	return 0;
}

void suite_end_finish(const struct suite_end *end)
{
	fflush(NULL);
	if (end->number)
		raise(end->number);
	sigprocmask(SIG_SETMASK, &end->before, NULL);
}
