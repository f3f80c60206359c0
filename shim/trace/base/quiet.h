#pragma once
/*
 * A section of a thread that no signal handler may interrupt: all signals except faults are
 * blocked, cancellation is off. For rare work: it costs two system calls. errno is preserved.
 */
#include <signal.h>
#include <stdbool.h>

struct quiet {
	bool masked; /* signals are blocked; false if the program has forbidden that (permit.h) */
	sigset_t signals;
	int cancel;
};

void quiet_begin(struct quiet *quiet);
void quiet_end(const struct quiet *quiet);
