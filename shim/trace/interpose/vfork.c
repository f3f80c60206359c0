/*
 * Children that run in their parent's memory, in the place of one of its threads
 *
 * Until the child has ended or become another program, the thread's ring counts
 * as nobody's: what calls a verb there is told apart by its pid.
 *
 * Not here: the functions that make such children (spawn.c).
 */
#include <unistd.h>

#include "shim/trace/interpose/process.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/thread.h"

void record_vfork(uint32_t seq)
{
	/* inside a verb its end must still find the ring: a child there is not noticed */
	if (!record_on() || recorder.generation != record_generation() || recorder.depth ||
	    recorder.held)
		return;
	recorder.vfork = recorder.generation;
	recorder.vfork_seq = seq;
	recorder.generation = VFORKED;
}

bool record_in_vfork(void)
{
	return recorder.vfork && recorder.vfork == record_generation() &&
	       (pid_t)recorder.ring.head->pid != getpid();
}

/* The child's verbs are not recorded; that they were called is, in its parent's ring. */
static void report_vfork(void)
{
	pid_t me = getpid();

	if (recorder.vfork_child == me)
		return;
	recorder.vfork_child = me;
	recorder.generation = recorder.vfork;
	record_blind(BLIND_VFORK, (void *)(uintptr_t)me);
	recorder.generation = VFORKED;
}

void record_vforked(pid_t pid)
{
	recorder.generation = recorder.vfork;
	process_spawned(recorder.vfork_seq, pid, 0);
	recorder.generation = VFORKED;
}

void record_shared(pid_t child)
{
	if (!recorder.vfork)
		return;
	recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	process_spawned(recorder.vfork_seq, child, 0);
	record_blind(BLIND_VFORK, (void *)(uintptr_t)child);
	recorder.ringless = recorder.generation;
	thread_end(NULL);
}

/* Is the ring this thread's again? */
bool record_after_vfork(void)
{
	if (record_in_vfork()) {
		report_vfork();
		return false;
	}
	if (recorder.vfork == record_generation())
		recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	return recorder.generation == record_generation();
}
