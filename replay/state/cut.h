#pragma once
/*
 * Queue pairs that are no longer driven.
 */
#include <stdint.h>

struct replay;

/*
 * Queue pair @id, and the one that it is connected to, are no longer driven, because of object
 * @from (0: of what differed at @id itself). @why must stay valid.
 */
void cut_connection(struct replay *r, uint32_t id, uint32_t from, const char *why);
