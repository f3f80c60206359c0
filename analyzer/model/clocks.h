#pragma once
/*
 * By how much the clocks of several traces differ.
 *
 * Not thread-safe.
 */
struct trace;

/*
 * Adjust the clocks of the traces in @joint to the clock of the first one, as far as the recorded
 * events allow (trace_clock()). Reads the traces up to three times. Returns 0 or -errno after
 * log_err().
 */
int clocks_join(struct trace *joint);
