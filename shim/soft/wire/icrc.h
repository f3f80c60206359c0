#pragma once
/*
 * The invariant CRC of a RoCE v2 packet (annex A17.3.3): of everything from the IP header on except
 * the fields that routers change.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ends of a packet: its addresses are both IPv4 or both IPv6. */
struct icrc_ends {
	struct in6_addr src, dst; /* IPv4 mapped */
	uint16_t src_port;        /* host order; the destination's is 4791 */
	uint16_t id;              /* the identification of the IPv4 header, or what it may be */
};

/* The CRC so far, of the IP and UDP headers of a packet with @len bytes after them. */
uint32_t icrc_begin(const struct icrc_ends *ends, size_t len);

/* Continue with the base transport header, some bits of which are masked; with other bytes. */
uint32_t icrc_add_bth(uint32_t crc, const uint8_t *bth);
uint32_t icrc_add(uint32_t crc, const void *data, size_t len);

/* Write the four bytes of the ICRC. */
void icrc_write(uint32_t crc, uint8_t *to);

/*
 * Is the ICRC at the end of the packet of @len bytes good? The identification of an IPv4 header,
 * which a UDP socket does not show, may have any value, and DF may be missing.
 */
bool icrc_is_good(const struct icrc_ends *ends, const uint8_t *packet, size_t len);

/*
 * Does a change of bit @bit alone make the ICRC of a packet of @len bytes bad, whatever the packet
 * and its addresses? UDP's checksum shows the others.
 */
bool icrc_shows(size_t bit, size_t len);
