/*
 * The library's own functions, for those that inject faults
 */
#include "shim/trace/faults/behind.h"

#include "shim/trace/base/permit.h"

_Atomic(void *) behind_verbs[VERB_COUNT];

const struct behind_context *behind_context(const struct ibv_context *context)
{
	return known_find(context, KNOWN_FAULTY_CONTEXT);
}

void *behind_add_object(const void *object, enum known_kind kind, size_t bytes)
{
	struct known *known = known_find(object, kind);

	if (known)
		return known;
	known = permit_alloc(1, bytes);
	if (known)
		known_add(known, object, kind);
	return known;
}

struct behind_context *behind_add(const struct ibv_context *context)
{
	return behind_add_object(context, KNOWN_FAULTY_CONTEXT, sizeof(struct behind_context));
}

void behind_fail_qp(struct ibv_qp *qp)
{
	int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) = library_find(VERB_modify_qp);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (modify)
		modify(qp, &attr, IBV_QP_STATE);
}
