#pragma once
/*
 * Messages and verbs as a trace in the Open Trace Format 2, for Vampir, Scalasca and ViTE.
 *
 * Not thread-safe.
 */
struct trace;

/* Write the archive into @folder: traces.otf2 and its other files. 0 or -errno after log_err(). */
int otf2_write(struct trace *trace, const char *folder);
