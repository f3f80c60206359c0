/*
 * Is a port known by an address?
 */
#include "replay/state/place.h"

#include <string.h>

enum gid_family { GID_LINK_LOCAL, GID_IPV4, GID_OTHER };

static enum gid_family family_of(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80)
		return GID_LINK_LOCAL;
	return memcmp(gid->raw, mapped, sizeof(mapped)) ? GID_OTHER : GID_IPV4;
}

enum placed place_compare(uint16_t lid, const union ibv_gid *gid, const struct ibv_ah_attr *av)
{
	bool same;

	if (av->is_global ? lid : !lid)
		return PLACED_PERHAPS;
	same = av->is_global ? !memcmp(gid, &av->grh.dgid, sizeof(*gid)) : lid == av->dlid;
	if (same)
		return PLACED_THERE;
	return !av->is_global || family_of(gid) == family_of(&av->grh.dgid) ? PLACED_ELSEWHERE
									    : PLACED_PERHAPS;
}

bool place_is_alike(const union ibv_gid *a, const union ibv_gid *b)
{
	return family_of(a) == family_of(b);
}
