#pragma once
/*
 * Queue pairs that are no longer replayed.
 */
#include <stdint.h>

struct replay;

/*
 * Stop replaying queue pair @id, and its peer, because of object @from (0: because of a difference
 * at @id itself). @why must stay valid.
 */
void cut_connection(struct replay *r, uint32_t id, uint32_t from, const char *why);
