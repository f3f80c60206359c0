#pragma once
/*
 * Requests built by ibv_wr_*().
 */
#include "cli/emit/maker.h"

/* The function's name after "ibv_wr_"; NULL: a program cannot build such a request. */
const char *builder_name(int opcode);

/* Add the calls from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). 0 or -errno. */
int builder_add_post(struct maker *maker, const struct post *post);
