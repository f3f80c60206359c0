#pragma once
/*
 * What the files of process.h share.
 */
#include <stdint.h>

struct channel;

/* The copy of the object at @real of the process that serves @channel; NULL: none is known. */
void *process_object(const struct channel *channel, uint64_t real);
