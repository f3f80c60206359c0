#pragma once
/*
 * Shared by the files of process.h.
 */
#include <stdint.h>

struct channel;

/* The copy of the object at @real in the process that serves @channel; NULL: none is known. */
void *process_object(const struct channel *channel, uint64_t real);
