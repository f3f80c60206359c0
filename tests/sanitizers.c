/*
 * Options of sanitizers for our unit tests, which fork with many threads, and for the command,
 * which replays a program
 *
 * ThreadSanitizer ends such a child by default, and delays the exit of a process with threads
 * by a second. AddressSanitizer's leak check, as the child ends, would wait for locks of
 * threads that it does not have.
 */
#include <pthread.h>
#include <stdbool.h>

enum { STACK_MORE = 1 << 20 };

#define ASKED __attribute__((visibility("default")))

ASKED const char *__tsan_default_options(void);
ASKED const char *__tsan_default_suppressions(void);
ASKED const char *__lsan_default_suppressions(void);
ASKED int __lsan_is_turned_off(void);

static bool is_child;

/*
 * ThreadSanitizer keeps threads that the child does not have, by where their stacks are, and ends
 * the child where a new one gets such a stack again: none of them is large enough for it.
 */
static void enlarge_stacks(void)
{
#ifdef __SANITIZE_THREAD__
	pthread_attr_t attr;
	size_t size;

	if (pthread_getattr_default_np(&attr))
		return;
	pthread_attr_getstacksize(&attr, &size);
	pthread_attr_setstacksize(&attr, size + STACK_MORE);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
#endif
}

static void in_child(void)
{
	is_child = true;
	enlarge_stacks();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

const char *__tsan_default_options(void)
{
	return "die_after_fork=0:atexit_sleep_ms=0";
}

/*
 * Reading a buffer while a peer writes it is a matter of the program, and so of the fuzzing test
 * and of a replay; locks that a forked child re-creates are held by none of its threads.
 */
const char *__tsan_default_suppressions(void)
{
	return "race:^copy_put$\n"
	       "race:^copy_scatter$\n"
	       "race:^copy_gather$\n"
	       "race:^forget_inherited$\n";
}

/*
 * babeltrace2 leaks its data of a damaged stream; no other library here uses GLib. And replay does
 * not free what the replayed program has not freed.
 */
const char *__lsan_default_suppressions(void)
{
	return "leak:^g_malloc0$\n"
	       "leak:^dispatch_call$\n"
	       "leak:^faults_call$\n"; /* which ends in the one above */
}

int __lsan_is_turned_off(void)
{
	return is_child;
}
