/*
 * replay/synth/synth_end.c: hosts and queue pairs of ends that are not in the trace
 *
 * RC, UC, SEND and RECV (of XRC) are connected to number 21 of the first host, and then to 22 of
 * the second; UD receives datagrams from both. Calls of the device are in a log.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/state/recorded.h"
#include "replay/synth/synth_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { RC = 1, UC, SEND, RECV, UD, NOBJECTS, PAGE = 4096 };

static char log_text[2048];
static struct replay replay;
static struct synthesized far;
static struct synth_plan plan_list[NOBJECTS], *plans[NOBJECTS];
static struct synth_link links[NOBJECTS][3];
static struct synth_host hosts[2];
static struct device device;
static struct ibv_device ibv_device;
static struct replica replicas[NOBJECTS];
static struct replica_qp queue_pair;
static const char *fails;
static unsigned int nopen; /* things of the device that are still there */
static struct verbs_context verbs;
static struct ibv_pd pd;
static struct ibv_mr mrs[8];
static unsigned int nmrs;
static struct ibv_qp qps[8];
static unsigned int nqps;
static struct ibv_cq cqs[8];
static unsigned int ncqs;
static struct ibv_ah ah;
static struct ibv_xrcd xrcd;
static struct ibv_srq srqs[4];
static unsigned int nsrqs;
static struct ibv_wc arrived[40];
static int narrived;

static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list args;

	if (used)
		used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "; ");
	va_start(args, format);
	vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
	va_end(args);
}

static void expect_log(const char *expected)
{
	assert_string_equal(log_text, expected);
	*log_text = 0;
}

static bool is_failing(const char *name)
{
	errno = EPERM;
	return fails && !strcmp(fails, name);
}

int synth_map_regions(struct synth_host *host)
{
	log_line("map %d", (int)(host - hosts));
	return is_failing("map") ? -EPERM : 0;
}

void synth_unmap(struct synth_host *host)
{
	(void)host;
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	assert_ptr_equal(of, &ibv_device);
	nopen++;
	return &verbs.context;
}

int ibv_close_device(struct ibv_context *context)
{
	assert_ptr_equal(context, &verbs.context);
	nopen--;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	(void)context;
	if (is_failing("pd"))
		return NULL;
	nopen++;
	return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *of)
{
	(void)of;
	nopen--;
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *of, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)of;
	(void)iova;
	log_line("region %zu %u", length, access);
	if (is_failing("region"))
		return NULL;
	nopen++;
	mrs[nmrs].addr = addr;
	return &mrs[nmrs++];
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *of, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(of, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	nopen--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	(void)cq_context;
	(void)channel;
	(void)vector;
	log_line("cq %d", cqe);
	if (is_failing("cq"))
		return NULL;
	nopen++;
	cqs[ncqs].context = context;
	return &cqs[ncqs++];
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	nopen--;
	return 0;
}

static struct ibv_qp *create_qp(struct ibv_context *context, enum ibv_qp_type type,
				const struct ibv_qp_cap *cap, int all)
{
	log_line("qp %d %u/%u %u/%u%s", type, cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
		 cap->max_recv_sge, all ? "" : " silent");
	if (is_failing("qp"))
		return NULL;
	nopen++;
	qps[nqps] = (struct ibv_qp){ .context = context, .qp_type = type, .qp_num = 70 + nqps };
	return &qps[nqps++];
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	assert_int_equal(attr->comp_mask, IBV_QP_INIT_ATTR_XRCD);
	assert_ptr_equal(attr->xrcd, &xrcd);
	return create_qp(context, attr->qp_type, &attr->cap, attr->sq_sig_all);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *of, struct ibv_qp_init_attr *attr)
{
	assert_ptr_equal(of, &pd);
	assert_ptr_equal(attr->send_cq, attr->recv_cq);
	return create_qp(&verbs.context, attr->qp_type, &attr->cap, attr->sq_sig_all);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	log_line("destroy %u", qp->qp_num);
	nopen--;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *of, struct ibv_ah_attr *attr)
{
	(void)of;
	log_line("ah %u port %u", attr->dlid, attr->port_num);
	if (is_failing("ah"))
		return NULL;
	nopen++;
	return &ah;
}

int ibv_destroy_ah(struct ibv_ah *of)
{
	(void)of;
	nopen--;
	return 0;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	(void)context;
	assert_int_equal(attr->comp_mask, IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS);
	assert_int_equal(attr->fd, -1);
	log_line("xrcd");
	if (is_failing("xrcd"))
		return NULL;
	nopen++;
	xrcd.context = &verbs.context;
	return &xrcd;
}

static int close_xrcd(struct ibv_xrcd *of)
{
	(void)of;
	nopen--;
	return 0;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	log_line("srq %u/%u %d", attr->attr.max_wr, attr->attr.max_sge, attr->srq_type);
	assert_int_equal(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ);
	assert_ptr_equal(attr->xrcd, &xrcd);
	assert_ptr_equal(attr->cq, &cqs[0]);
	if (is_failing("srq"))
		return NULL;
	nopen++;
	srqs[nsrqs].context = context;
	return &srqs[nsrqs++];
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	nopen--;
	return 0;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = 300 + (uint32_t)(srq - srqs);
	return is_failing("srq_num") ? EPERM : 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	if (cq != &cqs[0])
		return 0;
	n = n < narrived ? n : narrived;
	memcpy(wc, arrived + narrived - n, (size_t)n * sizeof(*wc));
	narrived -= n;
	return n;
}

static void log_ready(const struct ibv_qp_attr *attr, int mask)
{
	log_line("rtr %u mtu %d to %u psn %u", attr->ah_attr.dlid, attr->path_mtu,
		 attr->dest_qp_num, attr->rq_psn);
	assert_int_equal(mask & (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		log_line("reads %u rnr %u", attr->max_dest_rd_atomic, attr->min_rnr_timer);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_true(mask & IBV_QP_STATE);
	if (attr->qp_state == IBV_QPS_INIT) {
		assert_true(mask & IBV_QP_PORT && mask & IBV_QP_PKEY_INDEX);
		log_line("init port %u", attr->port_num);
		if (mask & IBV_QP_QKEY)
			log_line("qkey %u", attr->qkey);
		if (mask & IBV_QP_ACCESS_FLAGS)
			log_line("access %u", attr->qp_access_flags);
	} else if (attr->qp_state == IBV_QPS_RTR && qp->qp_type != IBV_QPT_UD) {
		log_ready(attr, mask);
	} else if (attr->qp_state == IBV_QPS_RTS) {
		log_line("rts psn %u", attr->sq_psn);
		assert_true(mask & IBV_QP_SQ_PSN);
		if (mask & IBV_QP_TIMEOUT)
			log_line("timeout %u", attr->timeout);
		if (mask & IBV_QP_RETRY_CNT)
			log_line("retries %u/%u reads %u", attr->retry_cnt, attr->rnr_retry,
				 attr->max_rd_atomic);
	}
	return is_failing("modify") ? EPERM : 0;
}

const char *recorded_device_name(const struct replay *r, uint32_t object)
{
	(void)r;
	(void)object;
	return "recorded0";
}

uint8_t device_port(const struct device *of, uint8_t port)
{
	assert_ptr_equal(of, &device);
	return port == 2 ? 2 : 1;
}

void devices_translate_source(const struct devices *devices, const char *name,
			      const struct device *from, struct ibv_ah_attr *av)
{
	(void)devices;
	assert_string_equal(name, "recorded0");
	assert_ptr_equal(from, &device);
	assert_int_equal(av->port_num, 2);
	av->port_num = 1;
}

void devices_translate(const struct device *from, const struct device *to, uint8_t to_port,
		       struct ibv_ah_attr *av)
{
	assert_ptr_equal(from, to);
	assert_int_equal(to_port, 1);
	av->dlid = (uint16_t)(av->dlid + 1000);
}

static int begin_ends(void **state)
{
	static const enum ibv_qp_type types[] = {
		0, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_UD
	};

	(void)state;
	*log_text = 0;
	nobjects = nopen = nmrs = nqps = ncqs = nsrqs = 0;
	narrived = 0;
	fails = NULL;
	device = (struct device){ .device = &ibv_device, .context = &verbs.context };
	device.ports[1].mtu = IBV_MTU_1024;
	device.ports[2].mtu = IBV_MTU_2048;
	queue_pair = (struct replica_qp){ .port = 2 };
	memset(hosts, 0, sizeof(hosts));
	for (int i = 0; i < 2; i++)
		hosts[i] = (struct synth_host){ .device = &device, .longest = PAGE };
	for (uint32_t i = RC; i < NOBJECTS; i++) {
		add_object(OBJECT_qp, 1, 0);
		memset(links[i], 0, sizeof(links[i]));
		links[i][0] = (struct synth_link){ .host = 0, .number = 21 };
		links[i][1] = (struct synth_link){ .host = 1, .number = 21, .sq_psn = 51 };
		links[i][2] = (struct synth_link){ .host = 2, .number = 22, .sq_psn = 52 };
		links[i][1].av.dlid = 3;
		links[i][2].av.dlid = 4;
		plan_list[i] = (struct synth_plan){ .object = i,
						    .type = types[i],
						    .needed = true,
						    .qkey = 0x44,
						    .links = links[i],
						    .nlinks = 3 };
		plans[i] = &plan_list[i];
		replicas[i] =
			(struct replica){ .handle = &pd, .qp = &queue_pair, .number = 90 + i };
	}
	links[UD][0].number = 20;
	memset(&verbs, 0, sizeof(verbs));
	verbs.sz = sizeof(verbs);
	verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs.context.ops.poll_cq = poll_cq;
	verbs.create_qp_ex = create_qp_ex;
	verbs.open_xrcd = open_xrcd;
	verbs.close_xrcd = close_xrcd;
	verbs.create_srq_ex = create_srq_ex;
	verbs.get_srq_num = get_srq_num;
	far = (struct synthesized){ .plans = plans, .hosts = hosts, .nhosts = 2 };
	replay = (struct replay){ .far = &far, .replicas = replicas, .nreplicas = NOBJECTS };
	return pthread_mutex_init(&far.lock, NULL);
}

static int end_ends(void **state)
{
	(void)state;
	pthread_mutex_init(&far.lock, NULL); /* a test that failed may hold it */
	for (uint32_t i = RC; i < NOBJECTS; i++)
		synth_disconnect(&replay, i);
	for (int i = 0; i < 2; i++)
		synth_close(&hosts[i]);
	assert_int_equal(nopen, 0);
	return pthread_mutex_destroy(&far.lock);
}

FIXTURE(begin_ends, end_ends);

static const struct ibv_qp_attr attr = { .dest_qp_num = 21,
					 .path_mtu = IBV_MTU_1024,
					 .rq_psn = 61,
					 .min_rnr_timer = 12,
					 .max_dest_rd_atomic = 5,
					 .ah_attr.dlid = 3 };

static uint32_t connect_to(uint32_t object, uint32_t number, const char *expected)
{
	struct ibv_qp_attr to = attr;
	uint32_t here = 0;
	bool is = synth_connect(&replay, object, &to, &here);

	to.dest_qp_num = number;
	if (number != attr.dest_qp_num)
		is = synth_connect(&replay, object, &to, &here);
	expect_log(expected);
	assert_int_equal(is, here != 0);
	return here;
}

#define HOST "region 8192 1; region 1 1; map 0; "

TEST(a_reliable_end_mirrors_the_recorded_one)
{
	(void)state;
	assert_int_equal(connect_to(RC, 21,
				    HOST "cq 768; qp 2 256/256 1/1; init port 2; access 14; "
					 "rtr 1003 mtu 3 to 91 psn 51; reads 16 rnr 12; "
					 "rts psn 61; timeout 14; retries 7/7 reads 5"),
			 70);
	assert_int_equal(hosts[0].nends, 1);
	assert_int_equal(plan_list[RC].at, 2);
	assert_int_equal(plan_list[RC].ends->there, 21);
	assert_ptr_equal(plan_list[RC].ends->host, &hosts[0]);
	assert_int_equal(hosts[0].buffer[0], 0);
	assert_int_equal(hosts[0].buffer[250], (char)250);
	assert_int_equal(hosts[0].buffer[251], 0);
	assert_int_equal(hosts[0].buffer[PAGE - 1], (char)((PAGE - 1) % 251));
	assert_int_equal(hosts[0].buffer[PAGE], 0); /* received messages come after this byte */
}

TEST(an_unreliable_end_has_no_reads)
{
	(void)state;
	assert_int_equal(connect_to(UC, 21,
				    HOST "cq 768; qp 3 256/256 1/1; init port 2; access 2; "
					 "rtr 1003 mtu 3 to 92 psn 51; rts psn 61"),
			 70);
}

TEST(an_exclusive_end_is_of_the_other_side)
{
	(void)state;
	assert_int_equal(connect_to(SEND, 21,
				    HOST "xrcd; cq 4096; qp 10 256/256 1/1; init port 2; "
					 "access 14; rtr 1003 mtu 3 to 93 psn 51; "
					 "reads 16 rnr 12; rts psn 61; timeout 14"),
			 70);
	assert_int_equal(connect_to(RECV, 21,
				    "cq 768; qp 9 256/0 1/0; init port 2; access 14; "
				    "rtr 1003 mtu 3 to 94 psn 51; rts psn 61; timeout 14; "
				    "retries 7/7 reads 5"),
			 71);
	assert_int_equal(synth_srqn(&replay, SEND, 8), 300);
	expect_log("srq 4096/1 1");
	assert_int_equal(synth_srqn(&replay, SEND, 9), 301);
	expect_log("srq 4096/1 1");
	assert_int_equal(synth_srqn(&replay, SEND, 8), 300); /* the same */
	expect_log("");
}

TEST(an_exclusive_number_needs_an_end)
{
	(void)state;
	assert_int_equal(synth_srqn(&replay, SEND, 8), 0);
	connect_to(UC, 21,
		   HOST "cq 768; qp 3 256/256 1/1; init port 2; access 2; "
			"rtr 1003 mtu 3 to 92 psn 51; rts psn 61");
	assert_int_equal(synth_srqn(&replay, UC, 8), 0); /* the end is not exclusive either */
	assert_int_equal(synth_srqn(&replay, NOBJECTS, 8), 0);
	expect_log("");
}

TEST(queues_are_as_long_as_the_device_allows)
{
	(void)state;
	plan_list[RC].depth = 1000;
	device.attr.max_qp_wr = 900;
	device.attr.max_cqe = 2000;
	device.attr.max_qp_rd_atom = 4;
	device.attr.max_qp_init_rd_atom = 2;
	device.ports[2].mtu = IBV_MTU_512;
	hosts[0].bind = true;
	connect_to(RC, 21,
		   "region 8192 17; region 1 1; map 0; cq 2000; qp 2 256/900 1/1; init port 2; "
		   "access 14; rtr 1003 mtu 2 to 91 psn 51; reads 4 rnr 12; "
		   "rts psn 61; timeout 14; retries 7/7 reads 2");
}

TEST(a_deep_queue_has_as_many_receives)
{
	(void)state;
	plan_list[UC].depth = 257;
	device.ports[2].mtu = 0; /* not known */
	connect_to(UC, 21,
		   HOST "cq 770; qp 3 256/257 1/1; init port 2; access 2; "
			"rtr 1003 mtu 3 to 92 psn 51; rts psn 61");
}

TEST(another_connection_is_another_end)
{
	(void)state;
	assert_int_equal(connect_to(UC, 22,
				    HOST "cq 768; qp 3 256/256 1/1; init port 2; access 2; "
					 "rtr 1003 mtu 3 to 92 psn 51; rts psn 61; destroy 70; "
					 "region 8192 1; region 1 1; map 1; "
					 "cq 768; qp 3 256/256 1/1; init port 2; access 2; "
					 "rtr 1003 mtu 3 to 92 psn 52; rts psn 61"),
			 71);
	assert_null(plan_list[UC].ends->next);
	synth_disconnect(&replay, UC);
	expect_log("destroy 71");
	assert_null(plan_list[UC].ends);
	assert_int_equal(connect_to(UC, 21, ""), 0); /* the connection was made before */
	assert_int_equal(plan_list[UC].at, 3);
}

TEST(other_queue_pairs_are_not_connected)
{
	(void)state;
	plan_list[RC].nlinks = 1; /* the end is in the trace */
	assert_int_equal(connect_to(RC, 21, ""), 0);
	assert_int_equal(connect_to(UD, 21, ""), 0);
	plan_list[UC].needed = false;
	assert_int_equal(connect_to(UC, 21, ""), 0);
	replicas[RECV].qp = NULL;
	assert_int_equal(connect_to(RECV, 21, ""), 0);
	synth_disconnect(&replay, NOBJECTS);
}

TEST(a_connection_that_fails_leaves_nothing)
{
	(void)state;
	fails = "modify";
	assert_int_equal(connect_to(UC, 21,
				    HOST "cq 768; qp 3 256/256 1/1; init port 2; access 2; "
					 "destroy 70"),
			 0);
	assert_null(plan_list[UC].ends);
	fails = "qp";
	plan_list[UC].at = 0;
	assert_int_equal(connect_to(UC, 21, "cq 768; qp 3 256/256 1/1"), 0);
	fails = "cq";
	plan_list[UC].at = 0;
	assert_int_equal(connect_to(UC, 21, "cq 768"), 0);
	fails = "xrcd";
	assert_int_equal(connect_to(SEND, 21, "xrcd; cq 4096"), 0);
}

TEST(a_host_that_cannot_be_opened_is_not_tried_again)
{
	(void)state;
	fails = "region";
	assert_int_equal(connect_to(UC, 21, "region 8192 1; region 1 1"), 0);
	fails = NULL;
	plan_list[UC].at = 0;
	assert_int_equal(connect_to(UC, 21, ""), 0);
	fails = "pd";
	assert_int_equal(connect_to(UC, 22, ""), 0);
}

#define DATAGRAMS HOST "cq 768; qp 4 256/256 1/1; init port 2; qkey 68; rts psn 0; ah 1003 port 1"

TEST(each_number_that_sends_datagrams_is_an_end)
{
	(void)state;
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 70);
	expect_log(DATAGRAMS);
	assert_int_equal(synth_datagram_qpn(&replay, UD, 22), 71);
	expect_log("region 8192 1; region 1 1; map 1; cq 768; qp 4 256/256 1/1; init port 2; "
		   "qkey 68; rts psn 0; ah 1004 port 1");
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 70);
	assert_int_equal(synth_datagram_qpn(&replay, UD, 22), 71);
	assert_int_equal(synth_datagram_qpn(&replay, UD, 20), 0); /* the trace has it */
	assert_int_equal(synth_datagram_qpn(&replay, UD, 23), 0);
	assert_int_equal(synth_datagram_qpn(&replay, RC, 21), 0);
	expect_log("");
}

TEST(datagrams_need_a_queue_pair_here)
{
	(void)state;
	replicas[UD].handle = NULL;
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 0);
	replicas[UD].handle = &pd;
	replicas[UD].qp = NULL;
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 0);
	replicas[UD].qp = &queue_pair;
	fails = "ah";
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 0);
	expect_log(DATAGRAMS "; destroy 70");
	fails = "modify";
	assert_int_equal(synth_datagram_qpn(&replay, UD, 21), 0);
	expect_log("cq 768; qp 4 256/256 1/1; init port 2; qkey 68; destroy 71");
	assert_null(plan_list[UD].ends);
}

TEST(sends_that_completed_are_not_under_way)
{
	struct synth_end *end;

	(void)state;
	synth_datagram_qpn(&replay, UD, 21);
	*log_text = 0;
	end = plan_list[UD].ends;
	end->unsent = 36;
	for (int i = 0; i < 40; i++)
		arrived[i].wr_id = i >= 5; /* five receives */
	narrived = 40;
	synth_drain(end);
	assert_int_equal(narrived, 0);
	assert_int_equal(end->unsent, 1);
	arrived[0].wr_id = 1;
	narrived = 6;
	synth_drain(end);
	assert_int_equal(end->unsent, 0);
}
