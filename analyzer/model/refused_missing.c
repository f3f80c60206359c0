/*
 * Why a call was refused: it lacks something that it needs
 */
#include "analyzer/model/refused_missing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

static const struct args *args_of(const struct refused *r)
{
	return r->event->call->args;
}

bool refused_explain_null_object(const struct refused *r, char *text, size_t size)
{
	const struct handle_list *list = handles_of_inputs(r->event->call->verb);
	int64_t handle;

	if (!list->n || !args_get(args_of(r), list->handles[0].arg, &handle) || handle)
		return false;
	snprintf(text, size, "%s is NULL", arg_path(list->handles[0].arg));
	return true;
}

bool refused_explain_null_pd(const struct refused *r, char *text, size_t size)
{
	int64_t pd;

	if (!args_get(args_of(r), ARG(attr.pd), &pd) || pd)
		return false;
	snprintf(text, size, "attr.pd is NULL");
	return true;
}

static bool lacks_domain(const struct refused *r, char *text, size_t size)
{
	int64_t mask, type;
	bool receives;

	if (!args_get(args_of(r), ARG(qp_init_attr_ex.comp_mask), &mask) ||
	    !args_get(args_of(r), ARG(qp_init_attr_ex.qp_type), &type))
		return false;
	receives = type == ABI_QPT_XRC_RECV;
	if (mask & (receives ? ABI_QP_INIT_ATTR_XRCD : ABI_QP_INIT_ATTR_PD))
		return false;
	snprintf(text, size, "comp_mask lacks IBV_QP_INIT_ATTR_%s", receives ? "XRCD" : "PD");
	return true;
}

bool refused_explain_srq_parts(const struct refused *r, char *text, size_t size)
{
	static const struct {
		uint32_t bit;
		bool of_xrc;
		const char *name;
	} parts[] = {
		{ ABI_SRQ_INIT_ATTR_PD, false, "PD" },
		{ ABI_SRQ_INIT_ATTR_XRCD, true, "XRCD" },
		{ ABI_SRQ_INIT_ATTR_CQ, true, "CQ" },
	};
	const char *type = args_text(args_of(r), ARG(srq_init_attr_ex.srq_type));
	const bool xrc = type && !strcmp(type, "IBV_SRQT_XRC");
	int64_t mask;

	if (!args_get(args_of(r), ARG(srq_init_attr_ex.comp_mask), &mask))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (mask & parts[i].bit || (parts[i].of_xrc && !xrc))
			continue;
		snprintf(text, size, "comp_mask lacks IBV_SRQ_INIT_ATTR_%s", parts[i].name);
		return true;
	}
	return false;
}

/* The bits of send_ops_flags are those of the opcodes, as far as the header of 2019 has them. */
enum { OPS_LIKE_OPCODES = (1 << 11) - 1 };

static bool has_other_ops(const struct refused *r, char *text, size_t size)
{
	const struct enum_info *names = enum_find("ibv_qp_create_send_ops_flags");
	const char *type_name = args_text(args_of(r), ARG(qp_init_attr_ex.qp_type));
	int64_t ops, type;

	if (!type_name || !args_get(args_of(r), ARG(qp_init_attr_ex.send_ops_flags), &ops) ||
	    !args_get(args_of(r), ARG(qp_init_attr_ex.qp_type), &type))
		return false;
	ops &= OPS_LIKE_OPCODES & ~(int64_t)qp_type_opcodes((int)type);
	if (!ops)
		return false;
	ops &= -ops;
	snprintf(text, size, "send_ops_flags has %s, which %s does not support",
		 enum_name(names, (int)ops) ?: "an operation", type_name);
	return true;
}

bool refused_explain_extension(const struct refused *r, char *text, size_t size)
{
	return lacks_domain(r, text, size) || has_other_ops(r, text, size);
}

bool refused_explain_builders(const struct refused *r, char *text, size_t size)
{
	const struct qp *qp = r->object ? r->object->qp : NULL;

	if (!qp || qp->has_send_ops || !r->object->created.id.thread || qp->shared)
		return false;
	snprintf(text, size,
		 "%s was created without send_ops_flags and IBV_QP_INIT_ATTR_SEND_OPS_FLAGS: it "
		 "has no ibv_wr_*()",
		 r->object->name);
	return true;
}

bool refused_explain_descriptor(const struct refused *r, char *text, size_t size)
{
	if (!r->object || r->object->state != LIFE_LIVE)
		return false;
	snprintf(text, size,
		 "the file descriptor of %s is closed, and %s exists: the program closed it "
		 "itself, alone or with many others",
		 r->object->name, r->object->name);
	return true;
}

bool refused_explain_destination(const struct refused *r, char *text, size_t size)
{
	const struct life *context = r->object ? model_find(r->model, r->event->process,
							    OBJECT_context, r->object->context)
					       : NULL;
	int64_t port_num, global, dlid;
	const struct device_port *port;

	if (!args_get(args_of(r), ARG(attr.port_num), &port_num) ||
	    !args_get(args_of(r), ARG(attr.is_global), &global) ||
	    !args_get(args_of(r), ARG(attr.dlid), &dlid) || global || dlid)
		return false;
	port = context ? device_find_port(context->device, (uint32_t)port_num) : NULL;
	if (!port || port->ethernet)
		return false;
	snprintf(text, size, "dlid and is_global are 0: the address has neither a LID nor a GID");
	return true;
}

bool refused_explain_contexts(const struct refused *r, char *text, size_t size)
{
	const struct handle_list *list = handles_of_inputs(r->event->call->verb);
	const struct life *first = NULL;
	int64_t handle;

	for (unsigned int i = 0; i < list->n; i++) {
		const struct life *life = NULL;

		if (args_get(args_of(r), list->handles[i].arg, &handle) && handle)
			life = model_find(r->model, r->event->process, list->handles[i].kind,
					  (uint64_t)handle);
		if (!life || !life->context)
			continue;
		if (first && first->context != life->context) {
			snprintf(text, size, "%s is of another context than %s", first->name,
				 life->name);
			return true;
		}
		first = first ?: life;
	}
	return false;
}
