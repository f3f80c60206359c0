#pragma once
/*
 * The opcodes of packets: 3 bits of transport and 5 bits of operation, and the headers that follow
 * the base transport header (InfiniBand specification, 9.2, table 38, and annex A19).
 */
#include <stdbool.h>
#include <stdint.h>

enum opcode_transport {
	OPCODE_RC = 0x00,
	OPCODE_UC = 0x20,
	OPCODE_UD = 0x60,
	OPCODE_XRC = 0xa0,
	OPCODE_TRANSPORT = 0xe0, /* mask */
};

/* Bits for the transports that have an operation. */
enum { OPCODE_HAS_RC = 1, OPCODE_HAS_UC = 2, OPCODE_HAS_UD = 4, OPCODE_HAS_XRC = 8 };

/* The headers after the base transport header, in their order in a packet. */
enum opcode_header {
	OPCODE_DETH = 1 << 0,
	OPCODE_XRCETH = 1 << 1,
	OPCODE_RETH = 1 << 2,
	OPCODE_ATOMICETH = 1 << 3,
	OPCODE_AETH = 1 << 4,
	OPCODE_ATOMICACKETH = 1 << 5,
	OPCODE_IMMDT = 1 << 6,
	OPCODE_IETH = 1 << 7,
	OPCODE_FETH = 1 << 8, /* before the RETH */
};

enum opcode_kind {
	OPCODE_SEND,
	OPCODE_WRITE,
	OPCODE_READ,
	OPCODE_FLUSH,
	OPCODE_ATOMIC_WRITE,
	OPCODE_ATOMIC, /* the last kind of request; responses follow */
	OPCODE_READ_RESPONSE,
	OPCODE_ACK,
	OPCODE_ATOMIC_ACK,
};

/* The position of a packet in its message, and whether it may have payload. */
enum { OPCODE_FIRST = 1, OPCODE_LAST = 2, OPCODE_PAYLOAD = 4 };

/* clang-format off */
#define ALL  (OPCODE_HAS_RC | OPCODE_HAS_UC | OPCODE_HAS_XRC)
#define RELI (OPCODE_HAS_RC | OPCODE_HAS_XRC)
#define OPCODES(O)                                                                              \
	O(SEND_FIRST,		0x00, ALL, SEND, 0, FIRST)                                      \
	O(SEND_MIDDLE,		0x01, ALL, SEND, 0, MIDDLE)                                     \
	O(SEND_LAST,		0x02, ALL, SEND, 0, LAST)                                       \
	O(SEND_LAST_IMM,	0x03, ALL, SEND, OPCODE_IMMDT, LAST)                            \
	O(SEND_ONLY,		0x04, ALL | OPCODE_HAS_UD, SEND, 0, ONLY)                       \
	O(SEND_ONLY_IMM,	0x05, ALL | OPCODE_HAS_UD, SEND, OPCODE_IMMDT, ONLY)            \
	O(WRITE_FIRST,		0x06, ALL, WRITE, OPCODE_RETH, FIRST)                           \
	O(WRITE_MIDDLE,		0x07, ALL, WRITE, 0, MIDDLE)                                    \
	O(WRITE_LAST,		0x08, ALL, WRITE, 0, LAST)                                      \
	O(WRITE_LAST_IMM,	0x09, ALL, WRITE, OPCODE_IMMDT, LAST)                           \
	O(WRITE_ONLY,		0x0a, ALL, WRITE, OPCODE_RETH, ONLY)                            \
	O(WRITE_ONLY_IMM,	0x0b, ALL, WRITE, OPCODE_RETH | OPCODE_IMMDT, ONLY)             \
	O(READ_REQUEST,		0x0c, RELI, READ, OPCODE_RETH, NONE)                            \
	O(READ_RESPONSE_FIRST,	0x0d, RELI, READ_RESPONSE, OPCODE_AETH, FIRST)                  \
	O(READ_RESPONSE_MIDDLE,	0x0e, RELI, READ_RESPONSE, 0, MIDDLE)                           \
	O(READ_RESPONSE_LAST,	0x0f, RELI, READ_RESPONSE, OPCODE_AETH, LAST)                   \
	O(READ_RESPONSE_ONLY,	0x10, RELI, READ_RESPONSE, OPCODE_AETH, ONLY)                   \
	O(ACKNOWLEDGE,		0x11, RELI, ACK, OPCODE_AETH, NONE)                             \
	O(ATOMIC_ACKNOWLEDGE,	0x12, RELI, ATOMIC_ACK, OPCODE_AETH | OPCODE_ATOMICACKETH, NONE) \
	O(COMPARE_SWAP,		0x13, RELI, ATOMIC, OPCODE_ATOMICETH, NONE)                     \
	O(FETCH_ADD,		0x14, RELI, ATOMIC, OPCODE_ATOMICETH, NONE)                     \
	O(SEND_LAST_INV,	0x16, RELI, SEND, OPCODE_IETH, LAST)                            \
	O(SEND_ONLY_INV,	0x17, RELI, SEND, OPCODE_IETH, ONLY)                            \
	O(FLUSH_REQUEST,	0x1c, RELI, FLUSH, OPCODE_FETH | OPCODE_RETH, NONE)             \
	O(ATOMIC_WRITE_ONLY,	0x1d, RELI, ATOMIC_WRITE, OPCODE_RETH, ONLY)
/* clang-format on */

enum opcode {
#define O(name, number, has, kind, headers, place) OPCODE_##name = number,
	OPCODES(O)
#undef O
};

struct opcode_info {
	uint8_t has; /* OPCODE_HAS_*; 0: no such operation */
	uint8_t kind;
	uint16_t headers;
	uint8_t place;
};

/* The entry of @opcode, including its transport; NULL: there is no such opcode. */
const struct opcode_info *opcode_info(uint8_t opcode);

/* The headers of @opcode, including those of its transport: bits. */
unsigned int opcode_headers(uint8_t opcode);
