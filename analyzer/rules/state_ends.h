#pragma once
/*
 * STATE: the two ends of a connection, for the rules about both
 *
 * Not thread-safe.
 */
#include "analyzer/rules/add_finding.h"

enum { STATE_END_TEXT = 512 }; /* bytes, for the name of an end and the sentence around it */

/* The end that @qp is connected to; NULL if it is not known. @qp may be NULL. */
const struct peer *state_other_end(struct check *check, const struct life *qp);

/* "qp1 of process 2 (server)". Returns @text. */
const char *state_name_end(struct check *check, const struct life *qp, char text[STATE_END_TEXT]);

/* When and where @request of @qp was posted. */
struct moment state_request_moment(const struct life *qp, const struct queue_request *request);
