/*
 * Packets of the middle of a message that arrive together
 */
#include "shim/soft/network/arrival.h"

bool arrival_is_middle(const struct arrival *a)
{
	uint8_t transport = a->header.bth.opcode & OPCODE_TRANSPORT;
	const struct opcode_info *info = opcode_info(a->header.bth.opcode);

	return (transport == OPCODE_RC || transport == OPCODE_UC) && a->len &&
	       (info->kind == OPCODE_SEND || info->kind == OPCODE_WRITE) &&
	       info->place & OPCODE_PAYLOAD && !(info->place & (OPCODE_FIRST | OPCODE_LAST));
}

static bool follows_packets(const struct arrival *a, const struct arrival *next)
{
	const typeof(a->header.bth) *first = &a->header.bth, *bth = &next->header.bth;

	return bth->opcode == first->opcode && bth->dest_qp == first->dest_qp &&
	       bth->pkey == first->pkey && bth->psn == psn_add(first->psn, a->packets) &&
	       next->len == a->len / a->packets;
}

bool arrival_join(struct arrival *a, const struct arrival *next)
{
	ptrdiff_t stride = a->packets > 1 ? a->stride : next->payload - a->payload;

	if (a->packets == SHM_SGE_MAX || !follows_packets(a, next) ||
	    next->payload != a->payload + a->packets * stride)
		return false;
	a->stride = stride;
	a->len += next->len;
	a->packets++;
	a->header.bth.ack_request |= next->header.bth.ack_request;
	return true;
}

struct arrival arrival_part(const struct arrival *a, uint32_t i)
{
	struct arrival part = *a;

	part.header.bth.psn = psn_add(a->header.bth.psn, i);
	part.payload = a->payload + i * a->stride;
	part.len = a->len / a->packets;
	part.packets = 1;
	return part;
}

struct copy_list arrival_payload(const struct arrival *a)
{
	struct copy_list list = { .count = a->len ? a->packets : 0 };
	uint32_t i;

	for (i = 0; i < list.count; i++)
		list.iov[i] = (struct iovec){ a->payload + i * a->stride, a->len / a->packets };
	return list;
}
