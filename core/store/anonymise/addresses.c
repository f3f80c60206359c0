/*
 * Replacing addresses of machines by addresses of the same kind
 *
 *	fe80::/10, fec0::/10         the prefix is unchanged, the lower half is replaced
 *	fd00::/7, others             the prefix by another of its kind (2001:db8::/32)
 *	IPv4, as such or mapped      10.x.y.z, or 169.254.y.z: the net, then the host within it
 *	xx xx xx ff fe xx xx xx      a MAC address in it: 02:xx:xx:xx:xx:xx
 */
#include "core/store/anonymise/addresses.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static uint64_t get_be64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static void put_be64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

/* The group bit is unchanged; the locally administered bit is set. */
static uint64_t replace_mac(struct substitutes *s, uint64_t mac)
{
	uint64_t first = mac >> 40 & 1;

	if (mac == 0xffffffffffff || !mac)
		return mac;
	return (first | 2) << 40 | substitute_number(s, SUBSTITUTE_MAC, mac, 40);
}

/* An interface identifier or GUID, in which the local bit of the MAC address is inverted. */
uint64_t replace_guid(struct substitutes *s, uint64_t guid)
{
	const uint64_t local = 2ull << 40;
	uint64_t mac;

	if ((guid >> 24 & 0xffff) != 0xfffe)
		return substitute_number(s, SUBSTITUTE_INTERFACE, guid, 64);
	mac = (guid >> 40 << 24 | (guid & 0xffffff)) ^ local;
	if (!(mac & ~local)) /* none */
		return guid;
	mac = replace_mac(s, mac) ^ local;
	return mac >> 24 << 40 | 0xfffeull << 24 | (mac & 0xffffff);
}

static uint32_t replace_ipv4(struct substitutes *s, uint32_t ip)
{
	uint32_t net, host = ip & 0xff;

	if (!ip || ip >> 24 == 127 || ip >> 28 >= 14)
		return ip;
	host ^= (uint32_t)substitute_number(s, SUBSTITUTE_HOST_BYTE, 1 + (ip >> 8), 32) & 0xff;
	net = (uint32_t)substitute_number(s, SUBSTITUTE_NET, 1 + (ip >> 8), 16);
	if (ip >> 16 == 0xa9fe) /* link-local */
		return 0xa9fe0000 | (net & 0xff) << 8 | host;
	return 10u << 24 | net << 8 | host;
}

static uint64_t replace_prefix(struct substitutes *s, uint64_t prefix)
{
	unsigned int first = (unsigned int)(prefix >> 48);

	if (!prefix || (first & 0xffc0) == 0xfe80 || prefix == 0xfec0ull << 48)
		return prefix;
	if ((first & 0xffc0) == 0xfec0)
		return (uint64_t)first << 48 | substitute_number(s, SUBSTITUTE_PREFIX, prefix, 48);
	if ((first & 0xfe00) == 0xfc00)
		return (uint64_t)(first >> 8) << 56 |
		       substitute_number(s, SUBSTITUTE_PREFIX, prefix, 56);
	return 0x20010db8ull << 32 | substitute_number(s, SUBSTITUTE_PREFIX, prefix, 32);
}

void replace_gid(struct substitutes *s, uint8_t gid[16])
{
	uint64_t upper = get_be64(gid), lower = get_be64(gid + 8);

	if (!upper && lower >> 32 == 0xffff) {
		put_be64(gid + 8, 0xffffull << 32 | replace_ipv4(s, (uint32_t)lower));
		return;
	}
	if (!upper && lower <= 1)
		return;
	if (gid[0] == 0xff && gid[1] >> 4 != 3) /* not derived from a network's prefix */
		return;
	if (gid[0] == 0xff)
		upper = upper >> 48 << 48 | substitute_number(s, SUBSTITUTE_PREFIX, upper, 48);
	else
		upper = replace_prefix(s, upper);
	put_be64(gid, upper);
	put_be64(gid + 8, replace_guid(s, lower));
}

bool replace_gid_text(struct substitutes *s, const char *text, struct text *to)
{
	uint8_t gid[16];
	unsigned int byte;

	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return false;
	for (int i = 0; i < 16; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		gid[i] = (uint8_t)byte;
	}
	replace_gid(s, gid);
	for (int i = 0; i < 16; i++)
		text_addf(to, "%02x", gid[i]);
	return true;
}

/* Replace an address without a port. False: @text is not an address. */
static bool replace_ip(struct substitutes *s, const char *text, struct text *to)
{
	char written[INET6_ADDRSTRLEN];
	uint8_t ip6[16];
	uint32_t ip;

	if (inet_pton(AF_INET, text, &ip) == 1) {
		ip = htonl(replace_ipv4(s, ntohl(ip)));
		text_addf(to, "%s", inet_ntop(AF_INET, &ip, written, sizeof(written)));
		return true;
	}
	if (inet_pton(AF_INET6, text, ip6) != 1)
		return false;
	replace_gid(s, ip6);
	text_addf(to, "%s", inet_ntop(AF_INET6, ip6, written, sizeof(written)));
	return true;
}

/* Is @text a port, a service, or empty? */
static bool is_tail(const char *text)
{
	return !text[strspn(text, ":/x0123456789abcdef")];
}

/* Replace "fe80::1%2"; the number of the interface is unchanged. */
static bool replace_scoped(struct substitutes *s, char *ip, struct text *to)
{
	char *scope = strchr(ip, '%');

	if (scope)
		*scope = '\0';
	if (scope && scope[1 + strspn(scope + 1, "0123456789")])
		return false;
	if (!replace_ip(s, ip, to))
		return false;
	if (scope)
		text_addf(to, "%%%s", scope + 1);
	return true;
}

bool replace_address(struct substitutes *s, const char *text, struct text *to)
{
	const char *from = text + (*text == '['), *tail;
	size_t used = to->used, n;
	char ip[80];

	if (!*text || !strcmp(text, "none") ||
	    (!strncmp(text, "family ", 7) && !text[7 + strspn(text + 7, "0123456789")])) {
		text_addf(to, "%s", text);
		return true;
	}
	if (*text == '[')
		n = strcspn(from, "]");
	else
		n = strchr(text, '.') ? strcspn(text, ":") : strlen(text);
	tail = from + n + (from > text && from[n]);
	if (n >= sizeof(ip) || !is_tail(tail))
		return false;
	memcpy(ip, from, n);
	ip[n] = '\0';
	if (from > text)
		text_char(to, '[');
	if (!replace_scoped(s, ip, to)) {
		text_cut(to, used);
		return false;
	}
	text_addf(to, "%s%s", from > text ? "]" : "", tail);
	return true;
}
