/*
 * Which GID of a port replaces a recorded one
 */
#include "replay/device/gids.h"

#include <string.h>

#include "core/model/place.h"

enum gid_kind gid_kind_of(enum ibv_gid_type type)
{
	return type <= IBV_GID_TYPE_ROCE_V2 ? (enum gid_kind)(type + 1) : GID_UNTYPED;
}

bool gid_is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

bool gids_has(const struct gids *gids, int index)
{
	return index >= 0 && index < gids->n && !gid_is_zero(&gids->at[index].raw);
}

/* Is @here of the wanted kind? RoCE v2, which can be routed, replaces a GID of InfiniBand. */
static bool is_of_kind(enum gid_kind here, enum gid_kind wanted)
{
	return wanted != GID_UNTYPED &&
	       (here == wanted || (wanted == GID_IB && here == GID_ROCE_V2));
}

static unsigned int rate_gid(const struct gid *here, bool at_index, const struct gid *wanted)
{
	enum { KIND = 8, FAMILY = 4, INDEX = 2, V2 = 1 };
	unsigned int rate = (at_index ? INDEX : 0) + (here->kind == GID_ROCE_V2 ? V2 : 0);

	if (wanted && is_of_kind(here->kind, wanted->kind))
		rate += KIND;
	if (wanted && place_is_same_family(here->raw.raw, wanted->raw.raw))
		rate += FAMILY;
	return rate;
}

int gids_choose(const struct gids *gids, int index, const struct gid *wanted)
{
	unsigned int best_rate = 0, rate;
	int best = -1;

	for (int i = 0; i < gids->n; i++) {
		if (!gids_has(gids, i))
			continue;
		rate = rate_gid(&gids->at[i], i == index, wanted);
		if (best < 0 || rate > best_rate) {
			best = i;
			best_rate = rate;
		}
	}
	return best < 0 ? 0 : best;
}
