#pragma once
/*
 * The descriptors of contexts and completion channels. Any thread, also in signal handlers; no
 * lock. At most DESCRIPTORS objects are known.
 */
#include <stdbool.h>

#include "core/wire/event.h"

enum { DESCRIPTORS = 256 };

/*
 * @object has descriptor @fd. descriptors_remove(): @object is destroyed: remove all its
 * descriptors.
 */
void descriptors_add(const void *object, int fd);
void descriptors_remove(const void *object);

/* Recording of the process begins; a @child of fork() has no objects. */
void descriptors_begin(bool child);

/*
 * Descriptors that stay open over exec(2): those without FD_CLOEXEC. Returns their number, at most
 * EVENT_FORK_DESCRIPTORS. May change errno.
 */
unsigned int descriptors_list_staying(struct event_descriptor *list);
