/*
 * Is a port known by an address?
 */
#include "replay/state/place.h"

#include <string.h>

#include "replay/device/gids.h"

enum placed place_compare(uint16_t lid, const union ibv_gid *gid, const struct ibv_ah_attr *av)
{
	bool same;

	if (av->is_global ? lid : !lid)
		return PLACED_PERHAPS;
	same = av->is_global ? !memcmp(gid, &av->grh.dgid, sizeof(*gid)) : lid == av->dlid;
	if (same)
		return PLACED_THERE;
	return !av->is_global || gid_is_alike(gid, &av->grh.dgid) ? PLACED_ELSEWHERE
								  : PLACED_PERHAPS;
}
