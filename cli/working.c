/*
 * Progress: messages on stderr of a command that takes long
 *
 * A command that reads events reports how far it has read (cli_progress()). A command that does
 * other work, or waits for other processes, has a thread that reports that it is working. Both
 * share one clock, so there is at most one line every ten seconds.
 */
#include "cli/working.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "core/store/read/trace.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

/* with --verbose the second */
#define SHOW_NS    10000000000ull
#define VERBOSE_NS 1000000000ull

static struct {
	const char *command;
	uint64_t began, every;
	_Atomic uint64_t next; /* CLOCK_MONOTONIC, ns; relaxed: it orders nothing else */
} working;

static void begin_work(const char *command, uint64_t every)
{
	working.command = command;
	working.every = every;
	working.began = clock_monotonic();
	atomic_store_explicit(&working.next, working.began + every, memory_order_relaxed);
}

bool working_is_due(void)
{
	uint64_t next = atomic_load_explicit(&working.next, memory_order_relaxed);
	uint64_t now = clock_monotonic();

	return now >= next &&
	       atomic_compare_exchange_strong_explicit(&working.next, &next, now + working.every,
						       memory_order_relaxed, memory_order_relaxed);
}

static void *report_work(void *arg)
{
	char took[FORMAT_TEXT];

	for (;;) {
		uint64_t next = atomic_load_explicit(&working.next, memory_order_relaxed);
		struct timespec until = { (time_t)(next / 1000000000), (long)(next % 1000000000) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (working_is_due())
			log_info("%s: running for %s", working.command,
				 format_time((int64_t)(clock_monotonic() - working.began), took));
	}
	return arg;
}

/*
 * Start the thread, with all signals blocked: they are for the command's threads. If it cannot be
 * started, only the reports are missing.
 */
void working_start(const char *command, uint64_t every)
{
	pthread_t thread;
	sigset_t all, old;

	begin_work(command, every);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, report_work, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static uint64_t show_interval(void)
{
	return log_level() == LOG_VERBOSE ? VERBOSE_NS : SHOW_NS;
}

void cli_show_work(const char *command)
{
	working_start(command, show_interval());
}

void cli_progress(uint64_t events, int64_t time)
{
	char count[FORMAT_TEXT], at[FORMAT_TEXT];

	if (working_is_due())
		log_info("%s: %s events so far, up to %s of the recording", working.command,
			 format_count(events, count), format_time(time, at));
}

void cli_show_progress(const char *command, struct trace *trace)
{
	if (!working.command || strcmp(working.command, command) != 0)
		begin_work(command, show_interval());
	trace_on_progress(trace, cli_progress);
}
