#pragma once
/*
 * A stretch of a thread that nothing may enter: all signals but faults are
 * blocked, cancellation is off. For what is rare; two system calls. errno is kept.
 */
#include <signal.h>

struct quiet {
	sigset_t signals;
	int cancel;
};

void quiet_begin(struct quiet *quiet);
void quiet_end(const struct quiet *quiet);
