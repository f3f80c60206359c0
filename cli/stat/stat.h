#pragma once
/*
 * The output of `verbatim stat --format json` for a profile that another command has made. Not
 * thread-safe.
 */
struct profile;
struct symbols;
struct text;
struct trace;

/* Append the JSON to @out. 0 or -errno after log_err(). */
int stat_document(struct trace *trace, const struct profile *profile, struct symbols *symbols,
		  struct text *out);
