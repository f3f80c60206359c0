#pragma once
/*
 * A clock that is wrong on purpose, for tests of what reads it. One thread.
 */
struct session;

/*
 * Where VERBATIM_TEST_CLOCK="SECONDS PPM" is set, let @session's clock be that of a machine whose
 * time of day is so many seconds ahead, and whose clock is so many millionths fast. Says so, that
 * its trace is not taken for another. Before any program records. 0 or -EINVAL after log_err().
 */
int test_clock_set(struct session *session);
