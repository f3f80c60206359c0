#pragma once
/*
 * The address of a port, and whether a given address leads to it.
 *
 * A port has several kinds of addresses, and programs learn only some of them; so only a different
 * address of the same kind shows that the port is another one.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum { PLACE_GID = 16 };

/* Zeros: not known. */
struct place {
	bool is_global; /* the address is the GID, else the LID */
	uint8_t lmc;    /* of a port's own LID: number of low bits that select a path */
	uint16_t lid;
	uint8_t gid[PLACE_GID];
};

enum placed { PLACED_ELSEWHERE, PLACED_PERHAPS, PLACED_AT_PORT };

/* Accepts NULL. */
bool place_is_known(const struct place *place);

/* Does @to lead to the port with the address @known? */
enum placed place_compare(const struct place *known, const struct place *to);

/*
 * Are both GIDs of one family (link-local, IPv4, other)? If not, they do not tell whether the ports
 * are the same.
 */
bool place_is_same_family(const uint8_t a[PLACE_GID], const uint8_t b[PLACE_GID]);

/* "fe80:0000:..." or 32 hexadecimal digits; false, and @gid untouched, if it is something else. */
bool place_parse_gid(const char *text, uint8_t gid[PLACE_GID]);
