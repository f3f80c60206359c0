#pragma once
/*
 * `verbatim top` beside a recording: record --live. One thread.
 */
#include <sys/types.h>

struct session;

/* May it have the terminal? 0, or the status to exit with after one line. */
int onlooker_check(void);

/*
 * Start it on the terminal, before what the program is given is in the environment. Its process, or
 * -errno after log_err().
 */
pid_t onlooker_start(const struct session *session);

/* It sees the end by itself: wait for that. Accepts 0. */
void onlooker_wait(pid_t pid);

/* There is nothing to be seen: the terminal is put back. Accepts 0. */
void onlooker_stop(pid_t pid);
