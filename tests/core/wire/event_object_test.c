#include "core/wire/event_object.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

TEST(each_type_has_its_object)
{
	static const struct {
		enum ibv_event_type type;
		enum object_kind object;
	} rows[] = {
		{ IBV_EVENT_CQ_ERR, OBJECT_cq },
		{ IBV_EVENT_QP_FATAL, OBJECT_qp },
		{ IBV_EVENT_QP_REQ_ERR, OBJECT_qp },
		{ IBV_EVENT_QP_ACCESS_ERR, OBJECT_qp },
		{ IBV_EVENT_COMM_EST, OBJECT_qp },
		{ IBV_EVENT_SQ_DRAINED, OBJECT_qp },
		{ IBV_EVENT_PATH_MIG, OBJECT_qp },
		{ IBV_EVENT_PATH_MIG_ERR, OBJECT_qp },
		{ IBV_EVENT_QP_LAST_WQE_REACHED, OBJECT_qp },
		{ IBV_EVENT_SRQ_ERR, OBJECT_srq },
		{ IBV_EVENT_SRQ_LIMIT_REACHED, OBJECT_srq },
		{ IBV_EVENT_WQ_FATAL, OBJECT_wq },
		{ IBV_EVENT_DEVICE_FATAL, OBJECT_device },
		{ IBV_EVENT_PORT_ACTIVE, OBJECT_device },
		{ IBV_EVENT_GID_CHANGE, OBJECT_device },
		{ IBV_EVENT_CLIENT_REREGISTER, OBJECT_device },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(event_object(rows[i].type), rows[i].object);
}
