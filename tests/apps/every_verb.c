/*
 * Calls each verb of the list at least once, on one thread, and prints its arguments: every_verb.h.
 * Verbs that the device lacks are called, too.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/apps/app.h"
#include "tests/apps/every_verb_data.h"

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static void call_devices(void)
{
	struct ibv_device_attr_ex attr_ex;
	struct ibv_device_attr attr;
	struct ibv_device **list;
	int n;

	DO(ibv_fork_init, ibv_fork_init());
	list = NEED(DO(ibv_get_device_list, ibv_get_device_list(&n)));
	OUT("num_devices", n);
	DO(ibv_get_device_name, ibv_get_device_name(list[0]));
	ARG("device", H(list[0]));
	DO(ibv_get_device_index, ibv_get_device_index(list[0]));
	ARG("device", H(list[0]));
	DO(ibv_get_device_guid, ibv_get_device_guid(list[0]));
	ARG("device", H(list[0]));
	DO(ibv_is_fork_initialized, ibv_is_fork_initialized());
	context = NEED(DO(ibv_open_device, ibv_open_device(list[0])));
	ARG("device", H(list[0]));
	RET(H(context));
	DO(ibv_free_device_list, ibv_free_device_list(list));
	ARG("list", H(list));
	MUST(DO(ibv_query_device, ibv_query_device(context, &attr)));
	OUT("device_attr.max_qp", attr.max_qp);
	MUST(DO(ibv_query_device_ex, ibv_query_device_ex(context, NULL, &attr_ex)));
	OUT("attr.orig_attr.max_cq", attr_ex.orig_attr.max_cq);
}

static void call_ports(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_gid_entry entries[8];
	struct ibv_port_attr port;
	ssize_t n;
	__be16 pkey;

	MUST(DO(ibv_query_port, ibv_query_port(context, 1, &port)));
	ARG("port_num", 1);
	OUT("port_attr.gid_tbl_len", port.gid_tbl_len);
	MUST(DO(ibv_query_gid, ibv_query_gid(context, 1, 0, &gid)));
	ARG("index", 0);
	MUST(DO(ibv_query_gid_ex, ibv_query_gid_ex(context, 1, 1, &entries[0], 0)));
	ARG("gid_index", 1);
	n = DO(ibv_query_gid_table, ibv_query_gid_table(context, entries, 8, 0));
	ARG("max_entries", 8);
	RET(n);
	MUST(DO(ibv_query_pkey, ibv_query_pkey(context, 1, 0, &pkey)));
	OUT("pkey", ntohs(pkey));
	RET(0);
	DO(ibv_get_pkey_index, ibv_get_pkey_index(context, 1, pkey));
	ARG("pkey", ntohs(pkey));
	DO(ibv_query_rt_values_ex, ibv_query_rt_values_ex(context, &values));
	ARG("values.comp_mask", IBV_VALUES_MASK_RAW_CLOCK);
}

static void call_memory(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_dm *dm, *imported_dm;
	struct ibv_sge sge;
	struct ibv_mr *other;
	uint32_t word = 1;

	pd = NEED(DO(ibv_alloc_pd, ibv_alloc_pd(context)));
	ARG("context", H(context));
	RET(H(pd));
	mr = NEED(DO(ibv_reg_mr, (ibv_reg_mr)(pd, buffer, sizeof(buffer), ALL)));
	ARG("pd", H(pd));
	ARG("addr", H(buffer));
	ARG("length", sizeof(buffer));
	ARG("access", ALL);
	OUT("ret.lkey", mr->lkey);
	OUT("ret.rkey", mr->rkey);
	other = NEED(DO(ibv_reg_mr_iova, (ibv_reg_mr_iova)(pd, buffer, 4096, 0x10000, ALL)));
	ARG("iova", 0x10000);
	MUST(DO(ibv_rereg_mr, ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   IBV_ACCESS_LOCAL_WRITE)));
	ARG("mr", H(other));
	ARG("flags", IBV_REREG_MR_CHANGE_ACCESS);
	ARG("access", IBV_ACCESS_LOCAL_WRITE);
	OUT("mr.lkey", other->lkey);
	OUT("mr.rkey", other->rkey);
	MUST(DO(ibv_dereg_mr, ibv_dereg_mr(other)));
	ARG("mr", H(other));
	other = NEED(DO(ibv_reg_mr_iova2, (ibv_reg_mr_iova2)(pd, buffer, 8192, 0x20000, ALL)));
	ARG("iova", 0x20000);
	ARG("length", 8192);
	MUST(DO(ibv_dereg_mr, ibv_dereg_mr(other)));
	DO(ibv_reg_dmabuf_mr, ibv_reg_dmabuf_mr(pd, 0, 4096, 0x3000, -1, ALL));
	ARG("iova", 0x3000);
	ARG("fd", -1);
	other = NEED(DO(ibv_alloc_null_mr, ibv_alloc_null_mr(pd)));
	ARG("pd", H(pd));
	MUST(DO(ibv_dereg_mr, ibv_dereg_mr(other)));
	sge = (struct ibv_sge){ H(buffer), 4096, mr->lkey };
	DO(ibv_advise_mr, ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	ARG("sg_list[0].addr", H(buffer));
	ARG("sg_list[0].length", 4096);
	dm = NEED(DO(ibv_alloc_dm, ibv_alloc_dm(context, &dm_attr)));
	ARG("attr.length", 64);
	MUST(DO(ibv_memcpy_to_dm, ibv_memcpy_to_dm(dm, 8, &word, sizeof(word))));
	ARG("dm", H(dm));
	ARG("dm_offset", 8);
	ARG("addr", H(&word));
	ARG("length", sizeof(word));
	MUST(DO(ibv_memcpy_from_dm, ibv_memcpy_from_dm(&word, dm, 12, sizeof(word))));
	ARG("dm", H(dm));
	ARG("dm_offset", 12);
	ARG("length", sizeof(word));
	other = DO(ibv_reg_dm_mr,
		   ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	ARG("dm", H(dm));
	ARG("length", 64);
	if (other)
		MUST(DO(ibv_dereg_mr, ibv_dereg_mr(other)));
	imported_dm = DO(ibv_import_dm, ibv_import_dm(context, dm->handle));
	ARG("dm_handle", dm->handle);
	if (imported_dm) {
		DO(ibv_unimport_dm, ibv_unimport_dm(imported_dm));
		ARG("dm", H(imported_dm));
	}
	MUST(DO(ibv_free_dm, ibv_free_dm(dm)));
	ARG("dm", H(dm));
	DO(ibv_dontfork_range, ibv_dontfork_range(buffer, 4096));
	ARG("base", H(buffer));
	ARG("size", 4096);
	DO(ibv_dofork_range, ibv_dofork_range(buffer, 4096));
	ARG("base", H(buffer));
}

static void call_imports(void)
{
	struct ibv_context *again = DO(ibv_import_device, ibv_import_device(context->cmd_fd));
	struct ibv_mr *imported_mr;
	struct ibv_pd *imported;

	ARG("cmd_fd", context->cmd_fd);
	if (!again)
		return;
	imported = NEED(DO(ibv_import_pd, ibv_import_pd(again, pd->handle)));
	ARG("pd_handle", pd->handle);
	imported_mr = NEED(DO(ibv_import_mr, ibv_import_mr(imported, mr->handle)));
	ARG("mr_handle", mr->handle);
	DO(ibv_unimport_mr, ibv_unimport_mr(imported_mr));
	ARG("mr", H(imported_mr));
	DO(ibv_unimport_pd, ibv_unimport_pd(imported));
	ARG("pd", H(imported));
	MUST(DO(ibv_close_device, ibv_close_device(again)));
	ARG("context", H(again));
}

static void call_completion(void)
{
	struct ibv_modify_cq_attr modify = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					     .moderate = { 3, 5 } };
	struct ibv_cq_init_attr_ex attr = { .cqe = 64,
					    .cq_context = buffer,
					    .wc_flags = CQ_FIELDS };

	channel = NEED(DO(ibv_create_comp_channel, ibv_create_comp_channel(context)));
	ARG("context", H(context));
	cq = NEED(DO(ibv_create_cq, ibv_create_cq(context, 64, buffer, channel, 0)));
	ARG("cqe", 64);
	ARG("cq_context", H(buffer));
	ARG("channel", H(channel));
	DO(ibv_resize_cq, ibv_resize_cq(cq, 128));
	ARG("cq", H(cq));
	ARG("cqe", 128);
	cq_ex = NEED(DO(ibv_create_cq_ex, ibv_create_cq_ex(context, &attr)));
	ARG("init_attr.cqe", 64);
	ARG("init_attr.wc_flags", CQ_FIELDS);
	RET(H(cq_ex));
	DO(ibv_modify_cq, ibv_modify_cq(cq, &modify));
	ARG("attr.moderate.cq_count", 3);
	ARG("attr.moderate.cq_period", 5);
}

static void call_tags(void)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 16, .max_sge = 1 },
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
					     .srq_type = IBV_SRQT_TM,
					     .pd = pd,
					     .cq = ibv_cq_ex_to_cq(cq_ex),
					     .tm_cap = { 8, 9 } };
	struct ibv_sge sge = { H(buffer), 128, mr->lkey };
	struct ibv_ops_wr add = { .opcode = IBV_WR_TAG_ADD }, *bad;
	struct ibv_srq *srq = NEED(DO(ibv_create_srq_ex, ibv_create_srq_ex(context, &attr)));

	ARG("srq_init_attr_ex.tm_cap.max_num_tags", 8);
	ARG("srq_init_attr_ex.tm_cap.max_ops", 9);
	add.tm.add.recv_wr_id = 44;
	add.tm.add.sg_list = &sge;
	add.tm.add.num_sge = 1;
	add.tm.add.tag = 0x1234567890;
	add.tm.add.mask = UINT64_MAX;
	MUST(DO(ibv_post_srq_ops, ibv_post_srq_ops(srq, &add, &bad)));
	ARG("op.recv_wr_id", 44);
	ARG("op.tag", 0x1234567890);
	ARG("op.sg_list[0].addr", H(buffer));
	OUT("op.handle", add.tm.handle);
	MUST(DO(ibv_destroy_srq, ibv_destroy_srq(srq)));
}

static void call_srqs(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_srq_init_attr_ex ex = { .attr = { .max_wr = 16, .max_sge = 1 },
					   .srq_type = IBV_SRQT_XRC };
	struct ibv_srq_attr modify = { .srq_limit = 4 };
	struct ibv_srq_attr found;
	struct ibv_recv_wr wr = { .wr_id = 77 }, *bad_wr;
	struct ibv_ops_wr op = { .wr_id = 5, .opcode = IBV_WR_TAG_SYNC }, *bad_op;
	struct ibv_srq *srq = NEED(DO(ibv_create_srq, ibv_create_srq(pd, &attr)));
	struct ibv_xrcd *xrcd;
	uint32_t number;

	ARG("srq_init_attr.attr.max_wr", 16);
	MUST(DO(ibv_modify_srq, ibv_modify_srq(srq, &modify, IBV_SRQ_LIMIT)));
	ARG("srq_attr.srq_limit", 4);
	MUST(DO(ibv_query_srq, ibv_query_srq(srq, &found)));
	OUT("srq_attr.srq_limit", found.srq_limit);
	MUST(DO(ibv_post_srq_recv, ibv_post_srq_recv(srq, &wr, &bad_wr)));
	HAS("wr.wr_id", 77);
	HAS("post.handle", H(srq));
	DO(ibv_post_srq_ops, ibv_post_srq_ops(srq, &op, &bad_op)); /* it matches no tags */
	ARG("srq", H(srq));
	MUST(DO(ibv_destroy_srq, ibv_destroy_srq(srq)));
	ARG("srq", H(srq));
	xrcd = NEED(DO(ibv_open_xrcd, ibv_open_xrcd(context, &xrcd_attr)));
	ARG("xrcd_init_attr.oflags", O_CREAT);
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
		       IBV_SRQ_INIT_ATTR_CQ;
	ex.pd = pd;
	ex.xrcd = xrcd;
	ex.cq = cq;
	srq = NEED(DO(ibv_create_srq_ex, ibv_create_srq_ex(context, &ex)));
	ARG("srq_init_attr_ex.xrcd", H(xrcd));
	MUST(DO(ibv_get_srq_num, ibv_get_srq_num(srq, &number)));
	OUT("srq_num", number);
	MUST(DO(ibv_destroy_srq, ibv_destroy_srq(srq)));
	MUST(DO(ibv_close_xrcd, ibv_close_xrcd(xrcd)));
	ARG("xrcd", H(xrcd));
}

static void work_queues(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_wq_attr modify = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq *wq = NEED(DO(ibv_create_wq, ibv_create_wq(context, &attr)));
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 0, .ind_tbl = &wq };
	struct ibv_rwq_ind_table *ind;
	struct ibv_sge sge = { H(buffer), 256, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 60, .sg_list = &sge, .num_sge = 1 }, *bad;

	ARG("wq_init_attr.max_wr", 8);
	MUST(DO(ibv_modify_wq, ibv_modify_wq(wq, &modify)));
	ARG("wq", H(wq));
	ARG("wq_attr.attr_mask", IBV_WQ_ATTR_STATE);
	MUST(DO(ibv_post_wq_recv, ibv_post_wq_recv(wq, &wr, &bad)));
	HAS("post.handle", H(wq));
	HAS("wr.wr_id", 60);
	HAS("sge.length", 256);
	ind = NEED(DO(ibv_create_rwq_ind_table, ibv_create_rwq_ind_table(context, &table)));
	ARG("init_attr.log_ind_tbl_size", 0);
	MUST(DO(ibv_destroy_rwq_ind_table, ibv_destroy_rwq_ind_table(ind)));
	ARG("rwq_ind_table", H(ind));
	MUST(DO(ibv_destroy_wq, ibv_destroy_wq(wq)));
	ARG("wq", H(wq));
}

static void call_flows(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = { { .type = IBV_FLOW_ATTR_NORMAL,
		     .size = sizeof(rule),
		     .num_of_specs = 1,
		     .port = 1 },
		   { IBV_FLOW_SPEC_ETH,
		     sizeof(rule.eth),
		     { .dst_mac = { 2 } },
		     { .dst_mac = { 0xff } } } };
	struct ibv_flow_action_esp_attr esp = { .comp_mask = 0 };
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr attach = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters *counters;
	struct ibv_flow_action *action;
	struct ibv_qp *qp = make_qp(IBV_QPT_RAW_PACKET, cq);
	uint64_t values[1];
	struct ibv_flow *flow;

	counters = NEED(DO(ibv_create_counters, ibv_create_counters(context, &init)));
	flow = DO(ibv_create_flow, ibv_create_flow(qp, &rule.attr));
	ARG("flow_attr.num_of_specs", 1);
	DO(ibv_attach_counters_point_flow, ibv_attach_counters_point_flow(counters, &attach, flow));
	ARG("counters", H(counters));
	if (flow) {
		MUST(DO(ibv_destroy_flow, ibv_destroy_flow(flow)));
		ARG("flow", H(flow));
	}
	DO(ibv_read_counters, ibv_read_counters(counters, values, 1, 0));
	ARG("ncounters", 1);
	MUST(DO(ibv_destroy_counters, ibv_destroy_counters(counters)));
	ARG("counters", H(counters));
	action = DO(ibv_create_flow_action_esp, ibv_create_flow_action_esp(context, &esp));
	ARG("context", H(context));
	if (action) {
		DO(ibv_modify_flow_action_esp, ibv_modify_flow_action_esp(action, &esp));
		DO(ibv_destroy_flow_action, ibv_destroy_flow_action(action));
	}
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
}

static void call_domains(void)
{
	struct ibv_td_init_attr init = { 0 };
	struct ibv_td *td = NEED(DO(ibv_alloc_td, ibv_alloc_td(context, &init)));
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };
	struct ibv_pd *parent =
		NEED(DO(ibv_alloc_parent_domain, ibv_alloc_parent_domain(context, &attr)));

	ARG("attr.td", H(td));
	MUST(DO(ibv_dealloc_pd, ibv_dealloc_pd(parent)));
	ARG("pd", H(parent));
	MUST(DO(ibv_dealloc_td, ibv_dealloc_td(td)));
	ARG("td", H(td));
}

/* Move to the error state: the last request of the SRQ causes an event. */
static void call_events(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = NEED(DO(ibv_create_srq, ibv_create_srq(pd, &srq_attr)));
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .srq = srq,
					 .cap = { 4, 0, 1, 0, 0 } };
	struct ibv_qp *qp = NEED(DO(ibv_create_qp, ibv_create_qp(pd, &attr)));
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_async_event event;

	connect_qp(qp);
	modify_qp(qp, &error, IBV_QP_STATE);
	MUST(DO(ibv_get_async_event, ibv_get_async_event(context, &event)));
	printf("%s %s %u 0 out.event.event_type IBV_EVENT_QP_LAST_WQE_REACHED\n", called, called,
	       nth);
	DO(ibv_ack_async_event, ibv_ack_async_event(&event));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
	MUST(DO(ibv_destroy_srq, ibv_destroy_srq(srq)));
}

int main(void)
{
	call_devices();
	call_ports();
	call_memory();
	call_imports();
	call_completion();
	call_srqs();
	call_tags();
	post_classic();
	post_built();
	post_datagrams();
	shared_queues();
	work_queues();
	call_flows();
	call_domains();
	call_events();
	MUST(DO(ibv_destroy_cq, ibv_destroy_cq(cq)));
	ARG("cq", H(cq));
	MUST(DO(ibv_destroy_cq, ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex))));
	MUST(DO(ibv_destroy_comp_channel, ibv_destroy_comp_channel(channel)));
	ARG("channel", H(channel));
	MUST(DO(ibv_dereg_mr, ibv_dereg_mr(mr)));
	MUST(DO(ibv_dealloc_pd, ibv_dealloc_pd(pd)));
	MUST(DO(ibv_close_device, ibv_close_device(context)));
	ARG("context", H(context));
	return 0;
}
