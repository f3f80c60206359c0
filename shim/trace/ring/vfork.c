/*
 * Children that run in their parent's memory, instead of one of its threads
 *
 * Until the child has ended or executed another program, the thread's ring has no owner: when the
 * thread or the child calls a verb, the pid shows which of them it is.
 *
 * Not here: the functions that create such children (spawn.c).
 */
#include "shim/trace/ring/vfork.h"

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"

void vfork_begin(uint32_t seq)
{
	/* not for a child created inside a verb: the verb needs its ring when it returns */
	if (!recording_is_on() || recorder.generation != recording_generation() || recorder.depth ||
	    recorder.held)
		return;
	recorder.vfork = recorder.generation;
	recorder.vfork_seq = seq;
	recorder.generation = RECORD_VFORKED;
}

bool vfork_is_child(void)
{
	return recorder.vfork && recorder.vfork == recording_generation() &&
	       (pid_t)recorder.ring.head->pid != permit_getpid();
}

/* Report the verbs of a child, which are not recorded, by an event in its parent's ring. */
static void report_vfork(void)
{
	pid_t me = permit_getpid();

	if (recorder.vfork_child == me)
		return;
	recorder.vfork_child = me;
	recorder.generation = recorder.vfork;
	record_report_blind(BLIND_VFORK, (void *)(uintptr_t)me);
	recorder.generation = RECORD_VFORKED;
}

void vfork_exec(pid_t pid)
{
	recorder.generation = recorder.vfork;
	record_write_fork_result(recorder.vfork_seq, pid, 0);
	recorder.generation = RECORD_VFORKED;
}

bool vfork_note_sharing(pid_t child)
{
	if (!recorder.vfork)
		return false;
	recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	record_write_fork_result(recorder.vfork_seq, child, 0);
	record_report_blind(BLIND_VFORK, (void *)(uintptr_t)child);
	recorder.ringless = recorder.generation;
	return true;
}

bool vfork_is_over(void)
{
	if (vfork_is_child()) {
		report_vfork();
		return false;
	}
	if (recorder.vfork == recording_generation())
		recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	return recorder.generation == recording_generation();
}
