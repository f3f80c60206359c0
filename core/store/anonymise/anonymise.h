#pragma once
/*
 * Writing an anonymised trace.
 *
 * It has the same events, objects and times; identifying data (identity.h) is replaced, equal data
 * by equal substitutes, so that check, stat and replay give the same results as for the original.
 * Bytes of messages and of private data are replaced by as many zeros. Stored findings are not
 * copied.
 */
struct trace;

/*
 * Write the anonymised @trace as @to, replacing an existing trace as writer_create() does: it is
 * written beside @to and renamed at the end. The file is new and written row by row, so that its
 * free pages contain nothing of the original. 0 or -errno after log_err().
 */
int anonymise_write(struct trace *trace, const char *to);
