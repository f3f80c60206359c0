#pragma once
/*
 * The rank of a recorded process in its job: from table `environ`. Not thread-safe.
 */
#include <stdint.h>

#include "core/wire/launcher.h"

struct sqlite3;

/*
 * The rank of @process, its node, and so on; the rank is -1 if the process has none, or if the
 * table cannot be read. If the launcher named no node, the node is the host of the recording.
 */
void rank_read(struct sqlite3 *db, uint32_t process, struct rank *ret_rank);

/* The host on which @process was recorded: in a merged trace each part has its own. "": unknown. */
void rank_host(struct sqlite3 *db, uint32_t process, char host[RANK_WORD]);

/* clang-format off */
/*
 * The ranks of all processes as a subquery: rank_facts() (core/store/vtab/functions.h) reads the
 * launcher's variables of each process once.
 */
#define RANK_FACT(name) " json_extract(facts, '$." name "') AS " name
#define SQL_RANKS                                                                          \
	"(WITH told(process, facts) AS MATERIALIZED"                                       \
	" (SELECT id, rank_facts(id) FROM process)"                                        \
	" SELECT process," RANK_FACT("rank") "," RANK_FACT("size") "," RANK_FACT("local")  \
	"," RANK_FACT("job") "," RANK_FACT("step") "," RANK_FACT("node") ","               \
	RANK_FACT("launcher") " FROM told WHERE facts IS NOT NULL)"
/* clang-format on */
