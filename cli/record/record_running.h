#pragma once
/*
 * Recording a program that runs already. Not thread-safe.
 */
#include <stdbool.h>

#include "cli/record/running.h"

/*
 * Record @running, which is @name, to the trace @path. @soft: it uses the software device. Returns
 * the exit status.
 */
int record_running_program(const struct recording_running *running, const char *path,
			   const char *name, bool soft);
