#pragma once
/*
 * `verbatim top` beside a recording: record --live. Not thread-safe.
 */
#include <sys/types.h>

struct session;

/* May it use the terminal? 0, or the exit status after one line. */
int onlooker_check(void);

/*
 * Start it on the terminal, before the environment for the program is set. Returns its process, or
 * -errno after log_err().
 */
pid_t onlooker_start(const struct session *session);

/* Wait for it: it ends by itself when the recording ends. Accepts 0. */
void onlooker_wait(pid_t pid);

/* End it, since there is nothing to show, and restore the terminal. Accepts 0. */
void onlooker_stop(pid_t pid);
