#pragma once
/*
 * Writing a trace that does not tell whose it is.
 *
 * It has the same events, objects and times; what identifies (identity.h) is replaced, the same by
 * the same, so that it is checked, counted and replayed as the original is. Bytes of messages and
 * of private data are zeros, as many as there were. Findings that were stored are not carried.
 */
struct trace;

/*
 * Write it as @to, which may lie there as for writer_create(): beside it, renamed at the end. It is
 * written row by row into a new file, so that nothing of the original is in free pages. 0 or -errno
 * after log_err().
 */
int anonymise_write(struct trace *trace, const char *to);
