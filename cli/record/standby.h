#pragma once
/*
 * A process that goes on with the recording if the recorder is killed. Not thread-safe.
 */
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/session.h"

struct standby {
	struct session_page *page;
	_Atomic uint32_t *owner; /* pid of the recorder; shared by all of these processes */
	pid_t pid;               /* 0: none */
	int fd;                  /* a pipe: its end of file shows the standby that we are dead */
	unsigned int takeovers;  /* in the ancestors of this process */
};

/* Initialise, without a standby process. @page: of the session. 0 or -errno. */
int standby_init(struct standby *standby, struct session_page *page);

/*
 * Fork a process that has the state of this moment, and end the one before it. Returns in this
 * process, and again in the new one if this one is killed: it is the recorder then. If it cannot be
 * forked there is none until the next call.
 */
void standby_renew(struct standby *standby);

/* From now on no process takes over. Accepts one that is all zero. */
void standby_dismiss(struct standby *standby);
