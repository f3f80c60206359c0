#pragma once
/*
 * Destroyed objects that a program uses by mistake
 *
 * ibv_post_send(), ibv_poll_cq() and similar verbs call through the context of their object: if the
 * object is freed memory, the program crashes before any library sees the call. So the memory of
 * the last DEAD_OBJECTS destroyed objects is not freed, and they get a context whose verbs fail
 * with EIO: the program continues, and a recorder shows the misuse. With valgrind and
 * AddressSanitizer, which report such a use themselves, objects are freed at once.
 *
 * Any thread; no lock.
 */
#include "shim/soft/transport/objects.h"

enum { DEAD_OBJECTS = 256 /* of one process */ };

/*
 * Free @object, allocated by malloc(), later. Nothing else may refer to it. *@context, the context
 * pointer in the object, is replaced.
 */
void dead_retain(void *object, struct ibv_context **context);

/* The same for a queue pair, whose requests must be freed before. */
void dead_retain_qp(struct soft_qp *qp);

/* The same for a closed context, and for all objects in it that the program has left. */
void dead_retain_context(struct soft_context *context);
