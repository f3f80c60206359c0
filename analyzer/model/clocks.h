#pragma once
/*
 * By how much the clocks of several traces differ.
 *
 * One thread.
 */
struct trace;

/*
 * Let the traces that @joint has joined follow the clock of the first, as far as what they have
 * recorded tells (trace_clock()). Reads them up to three times. Returns 0 or -errno after
 * log_err().
 */
int clocks_join(struct trace *joint);
