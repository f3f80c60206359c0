#pragma once
/*
 * Destroyed objects that a program uses by mistake
 *
 * ibv_post_send(), ibv_poll_cq() and the like call through the context of their object: if that is
 * freed memory, the program crashes before any library sees the call. The last DEAD_OBJECTS
 * destroyed objects therefore remain, with a context whose verbs fail with EIO: the program goes
 * on, and a recorder shows what it did. Under valgrind and AddressSanitizer, which report such a
 * use themselves, they are freed at once.
 *
 * Any thread; no lock.
 */
#include "shim/soft/transport/objects.h"

enum { DEAD_OBJECTS = 256 /* of a process */ };

/*
 * Free @object, from malloc(), later. Nothing else may refer to it. *@context is its context, which
 * is replaced.
 */
void dead_retain(void *object, struct ibv_context **context);

/* The same for a queue pair, whose requests are freed already. */
void dead_retain_qp(struct soft_qp *qp);

/* The same for a context that is closed, and with it all objects that the program left. */
void dead_retain_context(struct soft_context *context);
