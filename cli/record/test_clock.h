#pragma once
/*
 * A clock that is wrong on purpose, for tests. Not thread-safe.
 */
struct session;

/*
 * If VERBATIM_TEST_CLOCK="SECONDS PPM" is set, give @session the clock of a machine whose time of
 * day is ahead by that many seconds, and whose clock is fast by that many millionths. Prints a
 * note, so that its trace is not taken for a real one. Before any program records. 0 or -EINVAL
 * after log_err().
 */
int test_clock_set(struct session *session);
