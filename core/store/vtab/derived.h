#pragma once
/*
 * Tables `connection` and `queue` of a trace that is older than them: as later versions would have
 * written them.
 *
 * One thread.
 */
struct trace;

/* Add those that its file does not have to the connection of @trace. 0 or -errno. */
int derived_add(struct trace *trace);
