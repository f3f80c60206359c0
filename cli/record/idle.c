/*
 * How the recorder sleeps between two looks at the rings
 *
 * 	events within the last QUIET      up to SHORT at a time
 * 	none                             a quarter longer each time; a process that has
 * 	                                 events for us wakes us (session_wake())
 *
 * So an idle program, or one that has not called a verb yet, costs nothing; when it becomes active
 * again, its ring is read before it is full.
 *
 * A signal handler ends a long sleep, even one that is just about to begin: it clears the flag that
 * says that the recorder sleeps.
 */
#include "cli/record/idle.h"

#include <stddef.h>

#include "core/wire/clock.h"

enum {
	FIRST_NS = 50000,
	SHORT_NS = 2000000,
	QUIET_NS = 1000000000,
};

static struct session *sleeper;
static sigset_t caught;

static void on_signal(int signal)
{
	sigaddset(&caught, signal);
	if (sleeper->page)
		atomic_store(&sleeper->page->asleep, 0);
}

void idle_start(struct idle *idle, struct session *session, const sigset_t *signals)
{
	struct sigaction action = { .sa_handler = on_signal };

	*idle = (struct idle){ .session = session, .signals = *signals };
	sleeper = session;
	sigprocmask(SIG_BLOCK, signals, NULL);
	sigfillset(&action.sa_mask);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(signals, signal) == 1)
			sigaction(signal, &action, NULL);
}

static uint64_t next_pause(const struct idle *idle, int fullest)
{
	if (fullest > 25)
		return 0;
	if (fullest > 6)
		return idle->pause / 2;
	return idle->pause < FIRST_NS ? FIRST_NS : idle->pause + idle->pause / 4;
}

static void sleep_short(const struct idle *idle, sigset_t *ret_signals)
{
	const struct timespec timeout = { .tv_nsec = (long)idle->pause };
	int signal = sigtimedwait(&idle->signals, NULL, &timeout);

	if (signal > 0)
		sigaddset(ret_signals, signal);
}

static void sleep_long(const struct idle *idle, const struct collector *collector, uint64_t ns,
		       sigset_t *ret_signals)
{
	session_will_sleep(idle->session);
	sigemptyset(&caught);
	sigprocmask(SIG_UNBLOCK, &idle->signals, NULL);
	if (!collector_has_events(collector))
		session_sleep(idle->session, ns);
	sigprocmask(SIG_BLOCK, &idle->signals, NULL);
	atomic_store(&idle->session->page->asleep, 0);
	*ret_signals = caught;
}

void idle_wait(struct idle *idle, const struct collector *collector, int fullest, uint64_t most,
	       sigset_t *ret_signals)
{
	uint64_t now = clock_monotonic();

	sigemptyset(ret_signals);
	idle->pause = next_pause(idle, fullest);
	if (fullest > 0)
		idle->heard_at = now;
	if (idle->pause > SHORT_NS && now - idle->heard_at < QUIET_NS)
		idle->pause = SHORT_NS;
	if (most != IDLE_FOREVER && idle->pause > most)
		idle->pause = most;
	if (most == IDLE_FOREVER && idle->pause > SHORT_NS)
		sleep_long(idle, collector, 0, ret_signals);
	else if (idle->pause > SHORT_NS)
		sleep_long(idle, collector, idle->pause, ret_signals);
	else
		sleep_short(idle, ret_signals);
}
