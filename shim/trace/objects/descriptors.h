#pragma once
/*
 * The descriptors of contexts and completion channels. Any thread, signal handlers too; no lock.
 * Those of more than DESCRIPTORS objects are not known.
 */
#include <stdbool.h>

#include "core/wire/event.h"

enum { DESCRIPTORS = 256 };

/* @object has descriptor @fd; @object is gone, with all of its. */
void descriptors_add(const void *object, int fd);
void descriptors_remove(const void *object);

/* The process begins to be recorded; a @child of fork() has none of its own. */
void descriptors_begin(bool child);

/*
 * Those that stay open over exec(2): no FD_CLOEXEC. Returns how many, at most
 * EVENT_FORK_DESCRIPTORS. errno is not kept.
 */
unsigned int descriptors_staying(struct event_descriptor *list);
