#pragma once
/*
 * The GIDs of a port, and which of them replaces a recorded one.
 *
 * The GID tables of two hosts usually differ: index 3 is RoCE v2 over IPv4 on one, and link-local
 * or empty on the other.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { GIDS_MAX = 16 };

/* enum ibv_gid_type counted from 1, so that zero means an unknown type. */
enum gid_kind { GID_UNTYPED, GID_IB, GID_ROCE_V1, GID_ROCE_V2 };

struct gid {
	union ibv_gid raw;
	enum gid_kind kind;
};

struct gids {
	int n; /* number of entries, at most GIDS_MAX; gaps are zeros */
	struct gid at[GIDS_MAX];
};

enum gid_kind gid_kind_of(enum ibv_gid_type type);

bool gid_is_zero(const union ibv_gid *gid);

bool gids_has(const struct gids *gids, int index);

/*
 * The index of the GID that replaces @wanted (NULL: not known), which was recorded at @index: by
 * its kind, else by its family, else by its index, with RoCE v2 preferred over v1. 0 if there are
 * none.
 */
int gids_choose(const struct gids *gids, int index, const struct gid *wanted);
