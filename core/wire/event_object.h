#pragma once
/*
 * The kind of object to which an asynchronous event belongs, by its type (enum ibv_event_type). The
 * numbers are those of <infiniband/verbs.h>, part of a binary interface, and never change.
 *
 * Any thread.
 */
#include "core/wire/desc.h"

enum event_abi {
	ABI_EVENT_CQ_ERR = 0,
	ABI_EVENT_QP_FATAL = 1, /* this and all up to PATH_MIG_ERR belong to queue pairs */
	ABI_EVENT_PATH_MIG_ERR = 7,
	ABI_EVENT_SRQ_ERR = 14,
	ABI_EVENT_SRQ_LIMIT_REACHED = 15,
	ABI_EVENT_QP_LAST_WQE_REACHED = 16,
	ABI_EVENT_WQ_FATAL = 19,
};

/* The kind of object for event @type; OBJECT_device: a port or the device. */
static inline enum object_kind event_object(int64_t type)
{
	if (type == ABI_EVENT_CQ_ERR)
		return OBJECT_cq;
	if (type == ABI_EVENT_SRQ_ERR || type == ABI_EVENT_SRQ_LIMIT_REACHED)
		return OBJECT_srq;
	if (type == ABI_EVENT_WQ_FATAL)
		return OBJECT_wq;
	if ((type >= ABI_EVENT_QP_FATAL && type <= ABI_EVENT_PATH_MIG_ERR) ||
	    type == ABI_EVENT_QP_LAST_WQE_REACHED)
		return OBJECT_qp;
	return OBJECT_device;
}
