#pragma once
/*
 * The invariant CRC of a RoCE v2 packet (annex A17.3.3): of all bytes from the IP header on, except
 * the fields that routers change.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two ends of a packet. Its addresses are both IPv4 or both IPv6. */
struct icrc_ends {
	struct in6_addr src, dst; /* IPv4 addresses are mapped */
	uint16_t src_port;        /* source port, host order; the destination port is 4791 */
	uint16_t id;              /* identification of the IPv4 header, or its likely value */
};

/* The IP and UDP headers of a packet that has @len bytes after them; all zero: of none. */
struct icrc_start {
	struct icrc_ends ends;
	size_t len;
	uint32_t crc; /* for identification 0 */
};

/*
 * Begin the CRC with the IP and UDP headers of a packet that has @len bytes after them. *@last: the
 * headers of an earlier packet, which becomes this one; if they differ in the identification only,
 * less is computed.
 */
uint32_t icrc_begin(struct icrc_start *last, const struct icrc_ends *ends, size_t len);

/*
 * Continue with the base transport header, of which some bits are masked. icrc_add(): with other
 * bytes.
 */
uint32_t icrc_add_bth(uint32_t crc, const uint8_t *bth);
uint32_t icrc_add(uint32_t crc, const void *data, size_t len);

/* Write the four bytes of the ICRC to @to. */
void icrc_write(uint32_t crc, uint8_t *to);

/*
 * Is the ICRC at the end of the packet of @len bytes correct? The identification of an IPv4 header
 * may have any value, and DF may be missing, since a UDP socket does not report them. *@last: as
 * above.
 */
bool icrc_is_good(struct icrc_start *last, const struct icrc_ends *ends, const uint8_t *packet,
		  size_t len);

/*
 * Does a change of only bit @bit make the ICRC of any packet of @len bytes wrong, whatever its
 * contents and addresses? The checksum of UDP detects the other changes.
 */
bool icrc_shows(size_t bit, size_t len);
