#pragma once
/*
 * Table `connection` of a trace that is older than it: as later versions would have written it.
 *
 * One thread.
 */
struct trace;

/* Add it to the connection of @trace unless its file has it. 0 or -errno. */
int connection_table_add(struct trace *trace);
