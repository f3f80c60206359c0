#pragma once
/*
 * Work requests as C: lists of structures, or calls of ibv_wr_*().
 */
#include "cli/emit/maker.h"

enum { REQUEST_OBJECTS = 8 };

/* Add the call that posts. 0 or -errno. */
int request_add_post(struct maker *maker, const struct post *post);

/* The regions and windows of other processes or threads that @wr uses, and their number. */
size_t request_objects(struct maker *maker, uint32_t qp, const struct wr *wr,
		       uint32_t objects[REQUEST_OBJECTS]);

/* Was the request of that event a receive? */
bool request_is_receive(const struct maker *maker, struct event_id id);
