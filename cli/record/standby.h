#pragma once
/*
 * A process that goes on with the recording if the recorder is killed. Not thread-safe.
 */
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/session.h"

struct standby {
	struct session_page *page;
	_Atomic uint32_t *owner; /* pid of the recorder, in memory shared by all these processes */
	pid_t pid;               /* 0: none */
	int fd;                  /* a pipe: end of file tells the standby that we are dead */
	unsigned int takeovers;  /* in the ancestors of this process */
};

/* Initialise, without a standby process. @page: of the session. 0 or -errno. */
int standby_init(struct standby *standby, struct session_page *page);

/*
 * Fork a standby with the current state, and end the previous one. Returns in this process; and in
 * the standby, if this process is killed: the standby is then the recorder. If the fork fails,
 * there is no standby until the next call.
 */
void standby_renew(struct standby *standby);

/* From now on no process takes over. Accepts a zeroed @standby. */
void standby_dismiss(struct standby *standby);
