#pragma once
/*
 * The rank of a recorded process in its job: from table `environ`. One thread.
 */
#include <stdint.h>

#include "core/wire/launcher.h"

struct sqlite3;

/*
 * That of @process; its rank is -1 if it has none, or if the table cannot be read. If the launcher
 * named no node, it is the host of the recording.
 */
void rank_read(struct sqlite3 *db, uint32_t process, struct rank *ret_rank);
