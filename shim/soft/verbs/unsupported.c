/*
 * Verbs that this device does not support: each returns EOPNOTSUPP in the way that its manual page
 * describes
 *
 * docs/SOFT-DEVICE.md lists them with the reasons.
 */
#include "shim/soft/verbs/unsupported.h"

#include "shim/soft/transport/objects.h"
#include "shim/soft/verbs/enter.h"

/* verbs that return a pointer: type, name, parameters */
#define NULL_VERBS(V)                              \
	V(ibv_flow_action, create_flow_action_esp, \
	  (struct ibv_context * a, struct ibv_flow_action_esp_attr * b))

#define ERRNO_VERBS(V)                                       \
	V(destroy_flow_action, (struct ibv_flow_action * a)) \
	V(modify_flow_action_esp, (struct ibv_flow_action * a, struct ibv_flow_action_esp_attr * b))

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define V(type, name, params)                 \
	static struct type *no_##name params  \
	{                                     \
		return soft_fail(EOPNOTSUPP); \
	}
/* clang-format off */
NULL_VERBS(V)
/* clang-format on */
#undef V

#define V(name, params)             \
	static int no_##name params \
	{                           \
		return EOPNOTSUPP;  \
	}
/* clang-format off */
ERRNO_VERBS(V)
/* clang-format on */
#undef V

void unsupported_init(struct verbs_context *verbs)
{
#define V(type, name, params) verbs->name = no_##name;
	NULL_VERBS(V)
#undef V
#define V(name, params) verbs->name = no_##name;
	ERRNO_VERBS(V)
#undef V
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return EOPNOTSUPP;
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return EOPNOTSUPP;
}
