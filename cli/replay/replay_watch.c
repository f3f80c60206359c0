/*
 * Ends a replay early and leaves its report
 *
 * A signal, or the deadline, closes the report and asks the replay to end. A replay that hangs in
 * its device does not end: after a second, the watch's thread prints the report and ends the
 * process.
 *
 *	signal -> handler -> watch: close the report --1 s--> print it, end the process
 *	                            the replay ends  --+----> printed by the replay's thread
 */
#include "cli/replay/replay_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/format.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"
#include "replay/report/outcome.h"

enum { SHOW_NS = 500000000, GRACE_NS = 1000000000 };

const int replay_ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };

enum hold_state { HOLD_NOT, HOLD_ON, HOLD_OVER };

static struct {
	struct replay_watch *set;
	pthread_t thread;
	sem_t wake;
	int signal; /* the signal, which any thread may receive */
	bool late, taken;
	bool running, ended, claimed; /* claimed: a thread has claimed the printing */
	bool live, shown;
	uint64_t start, last, events; /* of the last line */
	uint64_t began;               /* when the last progress line about compiling was printed */
	volatile sig_atomic_t hold;   /* enum hold_state */
	int release;                  /* eventfd */
	uint64_t released;            /* time of a signal that ended the hold */
} watch;

/*
 * Does a signal end the hold? At a terminal it arrives twice, directly and passed on by the parent:
 * the second one must not end the rest of the work.
 */
static bool does_end_hold(void)
{
	uint64_t one = 1;

	if (watch.hold == HOLD_OVER)
		return clock_monotonic() - watch.released < GRACE_NS;
	if (watch.hold != HOLD_ON)
		return false;
	watch.hold = HOLD_OVER;
	watch.released = clock_monotonic();
	return write(watch.release, &one, sizeof(one)) == sizeof(one);
}

/* The signal that has arrived; 0: none. */
static int arrived_signal(void)
{
	return __atomic_load_n(&watch.signal, __ATOMIC_SEQ_CST);
}

static void note_end_signal(int number)
{
	int err = errno, none = 0;

	if (!does_end_hold()) {
		__atomic_compare_exchange_n(&watch.signal, &none, number, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		sem_post(&watch.wake);
	}
	errno = err;
}

/* An ignored signal, as under nohup, stays ignored. */
static void watch_end_signals(void)
{
	struct sigaction take = { .sa_handler = note_end_signal, .sa_flags = SA_RESTART }, old;

	for (const int *end = replay_ends; *end; end++)
		if (!sigaction(*end, NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(*end, &take, NULL);
}

static void put_terminal(const char *text, int n)
{
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		return; /* there is no way to report it */
}

static void clear_line(void)
{
	if (watch.shown)
		put_terminal("\r\033[K", 4);
	watch.shown = false;
}

/* "1,234 of 5,678 events, 12,000/s, 3.2 s left" */
static int format_events(uint64_t events, uint64_t now, char *line, size_t size)
{
	uint64_t left = watch.set->total > events ? watch.set->total - events : 0;
	double mean = (double)events / (double)(now - watch.began);
	char done[FORMAT_TEXT], total[FORMAT_TEXT], rate[FORMAT_TEXT], time[FORMAT_TEXT];
	double each = (double)(events - watch.events) * 1e9 / (double)(now - watch.last);

	return snprintf(line, size, "\r\033[Kreplay: %s of %s events, %s/s, %s left",
			format_count(events, done), format_count(watch.set->total, total),
			format_count((uint64_t)each, rate),
			events ? format_time((int64_t)((double)left / mean), time) : "?");
}

/* The same while the trace is compiled, before the replay. */
static int format_compiled(uint64_t events, char *line, size_t size)
{
	char done[FORMAT_TEXT], total[FORMAT_TEXT];

	return snprintf(line, size, "\r\033[Kreplay: compiling %s of %s events",
			format_count(events, done), format_count(watch.set->total, total));
}

static void show_line(void)
{
	bool compiled = outcome_is_compiled(watch.set->outcome);
	enum outcome_count what = compiled ? OUTCOME_SEEN : OUTCOME_COMPILED;
	uint64_t now = clock_monotonic(), events = outcome_total(watch.set->outcome, what);
	char line[200];

	if (!watch.live || watch.hold || now - watch.last < SHOW_NS)
		return;
	put_terminal(line, compiled ? format_events(events, now, line, sizeof(line))
				    : format_compiled(events, line, sizeof(line)));
	watch.shown = true;
	watch.last = now;
	watch.events = compiled ? events : 0;
	if (!compiled)
		watch.began = now;
}

static bool is_over(void)
{
	return watch.set->deadline &&
	       clock_monotonic() - watch.start > (uint64_t)watch.set->deadline;
}

/* Wait until another thread wakes us, for at most @ns. */
static void wait_for(uint64_t ns)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns += (uint64_t)at.tv_nsec;
	at.tv_sec += (time_t)(ns / 1000000000);
	at.tv_nsec = (long)(ns % 1000000000);
	sem_clockwait(&watch.wake, CLOCK_MONOTONIC, &at);
}

static bool claim_printing(void)
{
	return !__atomic_exchange_n(&watch.claimed, true, __ATOMIC_ACQ_REL);
}

static const char *name_end(void)
{
	switch (arrived_signal()) {
	case SIGINT:
		return "ended by SIGINT";
	case SIGTERM:
		return "ended by SIGTERM";
	case SIGHUP:
		return "ended by SIGHUP";
	default:
		return "ended by --deadline";
	}
}

static bool has_ended(void)
{
	/* pairs with the store in replay_watch_stop() */
	return __atomic_load_n(&watch.ended, __ATOMIC_ACQUIRE);
}

static void *watch_replay(void *arg)
{
	uint64_t asked;

	while (!has_ended() && !arrived_signal() && !is_over()) {
		uint64_t left = watch.set->deadline ? watch.start + (uint64_t)watch.set->deadline +
							      1 - clock_monotonic()
						    : SHOW_NS;

		wait_for(left < SHOW_NS ? left : SHOW_NS);
		show_line();
	}
	watch.late = !has_ended() && !arrived_signal();
	if (!has_ended())
		outcome_stop(watch.set->outcome, name_end());
	asked = clock_monotonic();
	while (!has_ended() && clock_monotonic() - asked < GRACE_NS)
		wait_for(GRACE_NS);
	clear_line();
	if (!has_ended() && claim_printing())
		watch.set->finish(watch.set->arg, arrived_signal());
	return arg;
}

int replay_watch_start(struct replay_watch *set)
{
	int err;

	watch.set = set;
	watch.live = isatty(STDERR_FILENO) && log_level() != LOG_QUIET;
	watch.start = watch.began = watch.last = clock_monotonic();
	watch.ended = watch.claimed = watch.late = false;
	watch.events = 0;
	if (!watch.taken && sem_init(&watch.wake, 0, 0))
		return log_err(-errno, "watch the replay");
	err = pthread_create(&watch.thread, NULL, watch_replay, NULL);
	if (err)
		return log_err(-err, "watch the replay");
	watch.running = true;
	if (!watch.taken)
		watch_end_signals();
	watch.taken = true;
	return 0;
}

/* Wait for Enter; the end of the input does not count. */
static void wait_for_release(void)
{
	struct pollfd from[] = { { .fd = watch.release, .events = POLLIN },
				 { .fd = STDIN_FILENO, .events = POLLIN } };
	char input[256];
	ssize_t n;

	for (;;) {
		if (poll(from, 2, -1) < 0 && errno != EINTR)
			return;
		if (watch.hold == HOLD_OVER)
			return;
		if (!(from[1].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)))
			continue;
		n = read(STDIN_FILENO, input, sizeof(input));
		if (n > 0 && memchr(input, '\n', (size_t)n))
			return;
		if (n <= 0 && !(n < 0 && errno == EINTR))
			from[1].fd = -1;
	}
}

void replay_watch_hold(void)
{
	watch.release = eventfd(0, EFD_CLOEXEC);
	if (watch.release < 0) {
		log_err(-errno, "wait for a debugger");
		return;
	}
	clear_line();
	watch.hold = HOLD_ON;
	wait_for_release();
	watch.hold = HOLD_OVER;
	close(watch.release);
}

int replay_watch_stop(bool *ret_late)
{
	*ret_late = false;
	if (!watch.running)
		return 0;
	/* pairs with the load in has_ended() */
	__atomic_store_n(&watch.ended, true, __ATOMIC_RELEASE);
	sem_post(&watch.wake);
	if (!claim_printing())
		for (;;)
			pause();
	pthread_join(watch.thread, NULL);
	watch.running = false;
	*ret_late = watch.late;
	return arrived_signal();
}

void replay_watch_leave(void)
{
	for (const int *end = replay_ends; *end; end++)
		signal(*end, SIG_DFL);
}
