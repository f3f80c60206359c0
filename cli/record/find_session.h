#pragma once
/*
 * Finding the session of a running recorder of this user. Not thread-safe.
 */
#include <stdbool.h>

#include "core/wire/session.h"

enum find_session { FIND_ANY, FIND_FLIGHT };

/*
 * Join the session given by @name: the PID of a recorder or of a recorded process, a directory, or
 * a trace that is being recorded, also with %j and %n as in -o; NULL: the only one that is running.
 * FIND_ANY also finds a session whose recorder has finished recording and only reports the end. 0
 * with a session for session_leave(), or -errno after log_err(): -ESRCH there is none.
 */
int find_session(const char *name, enum find_session which, struct session *session);

/*
 * Join the session that records the trace at @path. 0, or -ESRCH without a message: there is none.
 */
int find_session_of_trace(const char *path, struct session *session);

/* Is its recorder recording? Is its recorder alive, as it is for a while after recording? */
bool find_session_records(const struct session *session);
bool find_session_alive(const struct session *session);

/* Copy a text of the session's page, and terminate the copy: the program may change the page. */
const char *find_session_text(const char *text, char copy[SESSION_TEXT]);
