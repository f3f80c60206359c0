/*
 * A recorder whose trace the collector of its node writes
 *
 * It starts the program, passes signals on to it and returns its status. It has nothing to do with
 * the rings: if it is killed, the program and its recording continue.
 *
 * Not here: the collector, and how it is found (node.c).
 */
#include "cli/record/member.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/record/launch.h"
#include "cli/record/node.h"
#include "cli/record/signal_witness.h"
#include "core/wire/log.h"

/* after this time a signal to a process group has reached all members */
enum { SETTLE_NS = 20000000 };

struct member {
	struct node node;
	struct signal_witness witness;
	pid_t child;
};

/* Record for all members: runs in the collector's process. */
static int collect_node(void *arg, struct node *node)
{
	struct recording_settings set = *(const struct recording_settings *)arg;

	set.node = node;
	return recording_run(&set);
}

static int start_program(struct member *m, const struct recording_settings *set)
{
	int err = device_set_environment(m->node.session.dir, set->soft);

	if (!err && m->node.session.page->memory)
		err = device_watch_memory();
	if (!err)
		err = signal_witness_start(&m->witness);
	if (err) {
		log_err(err, "start '%s'", set->program[0]);
		return CLI_ENVIRONMENT;
	}
	return launch_program(set->program, &m->witness.before, &m->child);
}

/* A signal that only we have got is for the program. */
static void forward_signal(struct member *m, int signal)
{
	const struct timespec settle = { .tv_nsec = SETTLE_NS };

	nanosleep(&settle, NULL);
	signal_witness_read(&m->witness);
	if (!signal_witness_has(&m->witness, signal))
		kill(m->child, signal);
	signal_witness_forget(&m->witness);
}

/* Wait for the program, and report its end to the collector. Returns the status of waitpid(). */
static int await_program(struct member *m)
{
	struct node_end end = { .pid = (int)m->child };
	sigset_t signals = m->witness.signals;
	siginfo_t info;

	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	for (;;) {
		int signal;

		info.si_pid = 0;
		if (waitid(P_PID, (id_t)m->child, &info, WEXITED | WNOHANG | WNOWAIT) ||
		    info.si_pid)
			break;
		if (!sigwait(&signals, &signal) && signal != SIGCHLD)
			forward_signal(m, signal);
	}
	end.status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	node_report_end(&m->node, &end);
	waitpid(m->child, &end.status, 0);
	return end.status;
}

int member_run(const struct recording_settings *set)
{
	struct member m = { 0 };
	int status = node_join(&m.node, set->path, collect_node, (void *)(uintptr_t)set), left;

	if (status)
		return status;
	status = start_program(&m, set);
	if (!status)
		status = launch_status(await_program(&m));
	signal_witness_stop(&m.witness);
	left = node_leave(&m.node);
	return status ? status : left;
}
