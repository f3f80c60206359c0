#pragma once
/*
 * The headers of a packet. The structures, their encoding and their decoding are generated from one
 * list of fields. All fields are big-endian, and follow each other without gaps.
 *
 * Source: InfiniBand specification, chapter 9, annexes A14 (XRC) and A19 (flush).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/soft/wire/opcode.h"

/* clang-format off */
#define HEADER_BTH(F)								\
	F(8, opcode) F(1, solicited) F(1, migrated) F(2, pad) F(4, version)	\
	F(16, pkey) F(1, fecn) F(1, becn) F(6, unused) F(24, dest_qp)		\
	F(1, ack_request) F(7, unused2) F(24, psn)
#define HEADER_DETH(F)		F(32, qkey) F(8, unused) F(24, src_qp)
#define HEADER_XRCETH(F)	F(8, unused) F(24, srqn)
#define HEADER_FETH(F)		F(26, unused) F(2, level) F(4, type)
#define HEADER_RETH(F)		F(64, addr) F(32, rkey) F(32, length)
#define HEADER_ATOMICETH(F)	F(64, addr) F(32, rkey) F(64, swap_add) F(64, compare)
#define HEADER_AETH(F)		F(8, syndrome) F(24, msn)
#define HEADER_ATOMICACKETH(F)	F(64, original)
#define HEADER_IMMDT(F)		F(32, imm)
#define HEADER_IETH(F)		F(32, rkey)

/* The extended headers in their order in a packet; the base transport header is always present. */
#define HEADERS(H)					\
	H(DETH, deth, 8) H(XRCETH, xrceth, 4)		\
	H(FETH, feth, 4)				\
	H(RETH, reth, 16) H(ATOMICETH, atomic, 28)	\
	H(AETH, aeth, 4) H(ATOMICACKETH, atomic_ack, 8)	\
	H(IMMDT, immdt, 4) H(IETH, ieth, 4)
/* clang-format on */

#define HEADER_FIELD(bits, name) uint64_t name;
#define HEADER_STRUCT(upper, lower, size)    \
	struct {                             \
		HEADER_##upper(HEADER_FIELD) \
	} lower;

enum {
	HEADER_BTH_SIZE = 12,
	HEADER_MAX = 12 + 4 + 28 + 4, /* maximum size of the headers of a packet */
	HEADER_ICRC = 4,
	HEADER_UDP_PORT = 4791,
};

/* The headers of one packet; only those that its opcode has are valid. */
struct header {
	struct {
		HEADER_BTH(HEADER_FIELD)
	} bth;
	HEADERS(HEADER_STRUCT)
};

/* Syndromes of the AETH: the upper 3 bits are the kind of syndrome (9.7.5.2). */
enum {
	AETH_ACK = 0x1f, /* acknowledge without a credit count */
	AETH_RNR = 0x20, /* RNR NAK; the lower 5 bits are the timer */
	AETH_NAK = 0x60,
	AETH_NAK_SEQUENCE = 0x60,
	AETH_NAK_INVALID = 0x61,
	AETH_NAK_ACCESS = 0x62,
	AETH_NAK_OPERATION = 0x63,
	AETH_KIND = 0x60, /* mask of the kind */
};

/* The size of the headers of @opcode; 0: there is no such opcode. */
size_t header_size(uint8_t opcode);

/* Write the headers to @to, which has HEADER_MAX bytes. Returns their size. */
size_t header_write(const struct header *header, uint8_t *to);

/*
 * Read the headers of a packet of @len bytes. Returns their size; 0: the packet is too short, or
 * has an unknown opcode or version.
 */
size_t header_read(struct header *header, const uint8_t *from, size_t len);
