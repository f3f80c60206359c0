#pragma once
/*
 * Requests that ibv_wr_*() builds.
 */
#include "cli/emit/maker.h"

/* The rest of the function's name behind "ibv_wr_"; NULL: no request of a program. */
const char *builder_name(int opcode);

/* From ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). 0 or -errno. */
int builder_add_post(struct maker *maker, const struct post *post);
