#pragma once
/*
 * `verbatim top` beside a recording: record --live. Not thread-safe.
 */
#include <sys/types.h>

struct session;

/* Can `verbatim top` use the terminal? 0, or the exit status after one line. */
int live_view_check(void);

/*
 * Start `verbatim top` on the terminal, before the environment for the program is set. Returns its
 * pid, or -errno after log_err().
 */
pid_t live_view_start(const struct session *session);

/* Wait for `verbatim top`, which ends when the recording ends. Accepts 0. */
void live_view_wait(pid_t pid);

/* End `verbatim top`, since there is nothing to show, and restore the terminal. Accepts 0. */
void live_view_stop(pid_t pid);
