/*
 * The table of opcodes
 */
#include "shim/soft/wire/opcode.h"

#include <stddef.h>

enum {
	NONE = 0,
	MIDDLE = OPCODE_PAYLOAD,
	FIRST = OPCODE_FIRST | OPCODE_PAYLOAD,
	LAST = OPCODE_LAST | OPCODE_PAYLOAD,
	ONLY = OPCODE_FIRST | OPCODE_LAST | OPCODE_PAYLOAD,
};

static const struct opcode_info operations[32] = {
#define O(name, number, has, kind, headers, place) \
	[number] = { has, OPCODE_##kind, headers, place },
	OPCODES(O)
#undef O
};

static unsigned int find_transport(uint8_t opcode)
{
	switch (opcode & OPCODE_TRANSPORT) {
	case OPCODE_RC:
		return OPCODE_HAS_RC;
	case OPCODE_UC:
		return OPCODE_HAS_UC;
	case OPCODE_UD:
		return OPCODE_HAS_UD;
	case OPCODE_XRC:
		return OPCODE_HAS_XRC;
	default:
		return 0;
	}
}

const struct opcode_info *opcode_info(uint8_t opcode)
{
	const struct opcode_info *info = &operations[opcode & ~OPCODE_TRANSPORT];

	return info->has & find_transport(opcode) ? info : NULL;
}

static bool is_request(const struct opcode_info *info)
{
	return info->kind <= OPCODE_ATOMIC;
}

unsigned int opcode_headers(uint8_t opcode)
{
	const struct opcode_info *info = opcode_info(opcode);

	if (!info)
		return 0;
	switch (opcode & OPCODE_TRANSPORT) {
	case OPCODE_UD:
		return info->headers | OPCODE_DETH;
	case OPCODE_XRC:
		return info->headers | (is_request(info) ? OPCODE_XRCETH : 0);
	default:
		return info->headers;
	}
}
