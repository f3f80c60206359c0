#pragma once
/*
 * The GIDs of a port, and which of them stands for a recorded one.
 *
 * The GID tables of two hosts are seldom alike: index 3 is RoCE v2 over IPv4 on one, and link-local
 * or empty on the other.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { GIDS_MAX = 16 };

/* enum ibv_gid_type counted from 1, so that zeros are a GID of which nothing is known. */
enum gid_kind { GID_UNTYPED, GID_IB, GID_ROCE_V1, GID_ROCE_V2 };

struct gid {
	union ibv_gid raw;
	enum gid_kind kind;
};

struct gids {
	int n; /* of the table, at most GIDS_MAX; gaps are zeros */
	struct gid at[GIDS_MAX];
};

enum gid_kind gid_kind_of(enum ibv_gid_type type);

bool gid_is_zero(const union ibv_gid *gid);

bool gids_has(const struct gids *gids, int index);

/*
 * The index of the one that stands for @wanted (NULL: not known), which had @index there: of its
 * kind rather than of its family, that rather than at its index, and RoCE v2 before v1 where none
 * of that decides. 0 where there are none.
 */
int gids_choose(const struct gids *gids, int index, const struct gid *wanted);
