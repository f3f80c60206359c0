#pragma once
/*
 * Opening several traces, which are read as one (core/store/read/joint.h).
 */
struct arguments;
struct trace;

/* cli_open() for one or several traces. Reports all that cannot be opened, not only the first. */
int cli_open_all(const char *command, const struct arguments *arguments, struct trace **ret_trace);
