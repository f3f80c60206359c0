/*
 * The reads that a responder must answer: a ring
 */
#include "shim/soft/network/reads.h"

bool reads_has_room(const struct network_qp *n)
{
	return n->resp.reads < n->end->shm->max_dest_rd && n->resp.reads < NETWORK_RD_ATOMIC;
}

bool reads_add(struct network_qp *n, const struct network_read *read)
{
	struct responder *resp = &n->resp;

	if (!reads_has_room(n))
		return false;
	resp->read[(resp->first_read + resp->reads++) % NETWORK_RD_ATOMIC] = *read;
	return true;
}

struct network_read *reads_first(struct network_qp *n)
{
	return &n->resp.read[n->resp.first_read];
}

void reads_remove_first(struct network_qp *n)
{
	n->resp.first_read = (n->resp.first_read + 1) % NETWORK_RD_ATOMIC;
	n->resp.reads--;
}

uint32_t reads_packets(const struct network_qp *n)
{
	uint32_t owed = 0, i;

	for (i = 0; i < n->resp.reads; i++)
		owed += n->resp.read[(n->resp.first_read + i) % NETWORK_RD_ATOMIC].left;
	return owed;
}

bool reads_has_other_end(const struct network_qp *n, const struct soft_remote *end)
{
	const struct responder *resp = &n->resp;
	unsigned int i;

	for (i = 0; i < resp->reads; i++)
		if (resp->read[(resp->first_read + i) % NETWORK_RD_ATOMIC].end != end)
			return true;
	return false;
}
