#pragma once
/*
 * Replaces addresses of machines by addresses of the same kind. Not thread-safe.
 *
 * Not replaced: null addresses, loopback, multicast groups that do not name a network, the prefixes
 * of link-local and site-local addresses. Two addresses in one network (/24, /64) stay in one, a
 * GUID or GID that is derived from a MAC address is derived from that address's substitute.
 */
#include <stdint.h>

#include "core/base/text.h"
#include "core/store/anonymise/substitutes.h"

/* A GID or IPv6 address, in place: link-local, ULA, IPv4-mapped, global. */
void replace_gid(struct substitutes *substitutes, uint8_t gid[16]);

/* Returns the substitute of a GUID in host order. */
uint64_t replace_guid(struct substitutes *substitutes, uint64_t guid);

/*
 * The text of a GID as in a trace: 32 hex digits. False, with nothing added: @text is something
 * else.
 */
bool replace_gid_text(struct substitutes *substitutes, const char *text, struct text *to);

/* An address as sockaddr_text() writes it, or without a port. False: it is something else. */
bool replace_address(struct substitutes *substitutes, const char *text, struct text *to);
