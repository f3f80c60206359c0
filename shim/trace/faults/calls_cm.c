/* Replacements of librdmacm's functions that inject faults */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/faults/calls.h"
#include "shim/trace/faults/connected.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/postponed.h"

/* The status of @event, as librdmacm and the kernel report it. */
static int status_of(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_REJECTED:
		return 28; /* rejected by the consumer: IBA 12.6.7.2 */
	case RDMA_CM_EVENT_ADDR_ERROR:
		return -ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return -ETIMEDOUT;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return -ECONNRESET;
	default:
		return 0;
	}
}

static bool ends_connection(enum rdma_cm_event_type event)
{
	return event == RDMA_CM_EVENT_REJECTED || event == RDMA_CM_EVENT_UNREACHABLE ||
	       event == RDMA_CM_EVENT_CONNECT_ERROR || event == RDMA_CM_EVENT_DISCONNECTED;
}

/* Change an event. If its connection is therefore not established, the queue pair must not work. */
static void change_event(struct rdma_cm_event *event, const struct planned_fault *planned)
{
	plan_note(planned, "the event %s is %s", fault_cm_name((int)event->event),
		  fault_cm_name(planned->fault.value));
	event->event = (enum rdma_cm_event_type)planned->fault.value;
	event->status = status_of(event->event);
	if (!ends_connection(event->event))
		return;
	event->param.conn.private_data = NULL;
	event->param.conn.private_data_len = 0;
	if (event->id && event->id->qp) {
		postponed_release(event->id->qp);
		original_fail_qp(event->id->qp);
	}
}

static int wrap_rdma_get_cm_event(int (*behind)(struct rdma_event_channel *,
						struct rdma_cm_event **),
				  struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int ret = behind(channel, event);
	struct planned_fault planned;

	if (ret)
		return ret;
	planned = plan_cm_event((int)(*event)->event);
	if (planned.fault.kind == FAULT_BECOMES) {
		change_event(*event, &planned);
	} else if (planned.fault.kind == FAULT_DELAY) {
		plan_note(&planned, "the event %s is delayed by %llu us",
			  fault_cm_name((int)(*event)->event),
			  (unsigned long long)planned.fault.ns / 1000);
		plan_wait(planned.fault.ns);
	}
	return 0;
}

static void note_id(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	if (id->qp || param)
		connected_add_id(id, id->qp ? id->qp->qp_num : param->qp_num);
}

static int wrap_rdma_connect(int (*behind)(struct rdma_cm_id *, struct rdma_conn_param *),
			     struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	note_id(id, param);
	return behind(id, param);
}

static int wrap_rdma_accept(int (*behind)(struct rdma_cm_id *, struct rdma_conn_param *),
			    struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	note_id(id, param);
	return behind(id, param);
}

static int wrap_rdma_destroy_id(int (*behind)(struct rdma_cm_id *), struct rdma_cm_id *id)
{
	connected_remove_id(id);
	return behind(id);
}

#include "gen/faults_cm_gen.h"

void *calls_cm_find(enum verb verb)
{
	switch (verb) {
#define CASE(id)        \
	case VERB_##id: \
		return (void *)faulty_##id;
		FAULTY_SYMBOLS(CASE)
#undef CASE
	default:
		return NULL;
	}
}
