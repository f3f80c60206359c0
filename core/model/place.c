/* The address of a port, and whether a given address leads to it */
#include "core/model/place.h"

#include <ctype.h>
#include <string.h>

enum family { FAMILY_LINK_LOCAL, FAMILY_IPV4, FAMILY_OTHER };

static enum family find_family(const uint8_t gid[PLACE_GID])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80)
		return FAMILY_LINK_LOCAL;
	return memcmp(gid, mapped, sizeof(mapped)) ? FAMILY_OTHER : FAMILY_IPV4;
}

bool place_is_same_family(const uint8_t a[PLACE_GID], const uint8_t b[PLACE_GID])
{
	return find_family(a) == find_family(b);
}

bool place_is_known(const struct place *place)
{
	static const uint8_t none[PLACE_GID];

	if (!place)
		return false;
	return place->is_global ? memcmp(place->gid, none, sizeof(none)) != 0 : place->lid;
}

enum placed place_compare(const struct place *known, const struct place *to)
{
	uint16_t path = (uint16_t)((1u << (known->lmc & 7)) - 1);

	if (known->is_global != to->is_global)
		return PLACED_PERHAPS;
	if (!known->is_global)
		return (to->lid & ~path) == (known->lid & ~path) ? PLACED_AT_PORT
								 : PLACED_ELSEWHERE;
	if (!memcmp(known->gid, to->gid, PLACE_GID))
		return PLACED_AT_PORT;
	return place_is_same_family(known->gid, to->gid) ? PLACED_ELSEWHERE : PLACED_PERHAPS;
}

bool place_parse_gid(const char *text, uint8_t gid[PLACE_GID])
{
	uint8_t read[PLACE_GID] = { 0 };
	unsigned int n = 0;

	for (const char *at = text; *at; at++) {
		int c = tolower((unsigned char)*at);

		if (c == ':')
			continue;
		if (!isxdigit(c) || n == 2 * PLACE_GID)
			return false;
		read[n / 2] = (uint8_t)(read[n / 2] << 4 | (isdigit(c) ? c - '0' : c - 'a' + 10));
		n++;
	}
	if (n == 2 * PLACE_GID)
		memcpy(gid, read, sizeof(read));
	return n == 2 * PLACE_GID;
}
