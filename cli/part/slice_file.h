#pragma once
/*
 * A slice of a trace in a private file, for commands that take a trace. Not thread-safe.
 */
#include "cli/part/slice.h"

struct trace;

struct slice_file {
	char dir[256], path[272];
};

/*
 * Write @slice of @trace, which was opened as @path, to a private file. Returns 0, or the exit
 * status; then there is no file.
 */
int slice_file_make(const char *command, const struct slice *slice, const char *path,
		    struct trace *trace, struct slice_file *ret_file);

/* Accepts a zeroed @file. */
void slice_file_remove(const struct slice_file *file);

/*
 * Replace *@trace, which was opened as @path, with its slice in *@file, to be removed after
 * trace_close(); nothing if the slice is the whole trace. Returns 0, or the exit status with
 * *@trace closed and no file.
 */
int slice_file_open(const char *command, const struct slice *slice, const char *path,
		    struct trace **trace, struct slice_file *file);
