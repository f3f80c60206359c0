/*
 * The library's own functions, for those that inject faults
 */
#include "shim/trace/faults/original.h"

#include "shim/trace/base/permit.h"

_Atomic(void *) original_verbs[VERB_COUNT];

const struct original_of_context *original_of_context(const struct ibv_context *context)
{
	return known_find(context, KNOWN_FAULTY_CONTEXT);
}

void *original_add_object(const void *object, enum known_kind kind, size_t bytes)
{
	struct known *known = known_find(object, kind);

	if (known)
		return known;
	known = permit_alloc(1, bytes);
	if (known)
		known_add(known, object, kind);
	return known;
}

struct original_of_context *original_add_context(const struct ibv_context *context)
{
	return original_add_object(context, KNOWN_FAULTY_CONTEXT,
				   sizeof(struct original_of_context));
}

void original_fail_qp(struct ibv_qp *qp)
{
	int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) = original_find(VERB_modify_qp);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (modify)
		modify(qp, &attr, IBV_QP_STATE);
}
