#pragma once
/*
 * Recording a running process: `verbatim attach --record`. Not thread-safe.
 */
#include <stdint.h>

struct facts;

/* Why the recorder cannot enter the process, a constant text to follow "process N"; or NULL. */
const char *enter_refuse(const struct facts *facts);

/* Like enter_refuse(), from the text of /proc/PID/status only, for a recorder of @user. */
const char *enter_refuse_status(const char *status, unsigned long user);

/*
 * Record the process to the trace @path for @duration ns; 0: until a signal or its end. @facts
 * include the objects in its memory. Returns the exit status.
 */
int enter_record(struct facts *facts, const char *path, int64_t duration);
