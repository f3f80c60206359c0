/*
 * Packets from the network, and sequences of them, to the software device
 *
 * An input is a list of steps of STEP bytes: a packet of the peer to one of the queue pairs, with a
 * good header, fields near those that are expected, and a good ICRC; several of these that the
 * kernel delivers together; a packet of any bytes with a good ICRC; or something that the program
 * does: a post, or a change of the state. The device receives by its polls, so most packets are
 * taken one after the other.
 *
 * Memory beside the region must stay as it is. The sanitizers see the rest.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "shim/soft/network/sockets.h"
#include "shim/soft/wire/header.h"
#include "shim/soft/wire/icrc.h"
#include "shim/soft/wire/psn.h"
#include "tests/fuzz/fuzz.h"

enum {
	STEP = 12,
	STEPS = 40,
	PSN = 0xfffffe,
	QKEY = 0x1234,
	PART = 4096, /* a region, between two parts that nobody may write */
	PACKET = 8192,
	TRAIN = 40, /* packets: more than the device takes as one */
	TRAIN_BYTES = 65000,
	LONGEST = 4200, /* bytes of payload */
	DEPTH = 16,
	KINDS = 5,
};

#define HERE  "127.0.0.1"
#define THERE "127.0.0.2"

static const enum ibv_qp_type kinds[KINDS] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_RECV,
					       IBV_QPT_XRC_SEND };
static const uint8_t transports[KINDS] = { OPCODE_RC, OPCODE_UC, OPCODE_UD, OPCODE_XRC,
					   OPCODE_XRC };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_srq *srq;
static struct ibv_xrcd *xrcd;
static struct ibv_qp *qps[KINDS];
static uint32_t srqn;
static uint8_t memory[3 * PART] __attribute__((aligned(4096)));
static uint8_t *const region = memory + PART;
static int peer = -1;
static char fabric[] = "/dev/shm/verbatim-fuzz-XXXXXX";

static void must_hold(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "inside: %s\n", what);
	abort();
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

/* If the kernel allows it, in a network of its own: then others may have the port. */
static void enter_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	char text[64];
	int fd;

	snprintf(text, sizeof(text), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return;
	write_text("/proc/self/uid_map", text);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
}

static void open_peer(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(HEADER_UDP_PORT) };
	int discover = IP_PMTUDISC_DO;

	peer = socket(AF_INET, SOCK_DGRAM, 0);
	inet_pton(AF_INET, THERE, &at.sin_addr);
	setsockopt(peer, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	must_hold(!bind(peer, (struct sockaddr *)&at, sizeof(at)), "the peer's port is in use");
}

static void open_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex shared = {
		.attr = { DEPTH, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};

	context = ibv_open_device(list[0]);
	must_hold(context, "no device");
	ibv_free_device_list(list);
	pd = shared.pd = ibv_alloc_pd(context);
	cq = shared.cq = ibv_create_cq(context, 1024, NULL, NULL, 0);
	xrcd = shared.xrcd = ibv_open_xrcd(context, &domain);
	mr = ibv_reg_mr(pd, region, PART,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC);
	srq = ibv_create_srq_ex(context, &shared);
	must_hold(mr && srq, "no objects");
	ibv_get_srq_num(srq, &srqn);
}

static struct ibv_qp *open_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { DEPTH, DEPTH, 2, 2, 64 },
		.qp_type = type,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	must_hold(qp, "no queue pair");
	return qp;
}

static struct ibv_qp_attr attr_of(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x77,
		.rq_psn = PSN,
		.sq_psn = PSN,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.qkey = QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.ah_attr = { .port_num = 1, .is_global = 1 },
	};

	inet_pton(AF_INET6, "::ffff:" THERE, &attr.ah_attr.grh.dgid);
	return attr;
}

/* RESET to RTS, unless a packet that waits fails it in RTR. No timer runs. */
static void connect_qp(struct ibv_qp *qp)
{
	bool ud = qp->qp_type == IBV_QPT_UD, reliable = !ud && qp->qp_type != IBV_QPT_UC;
	const int masks[] = {
		[IBV_QPS_RESET] = IBV_QP_STATE,
		[IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
		[IBV_QPS_RTR] =
			ud ? IBV_QP_STATE
			   : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN |
					(reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
						  : 0),
		[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_SQ_PSN |
				(reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						    IBV_QP_MAX_QP_RD_ATOMIC
					  : 0),
	};
	struct ibv_qp_attr attr;

	for (int state = IBV_QPS_RESET; state <= IBV_QPS_RTS; state++) {
		attr = attr_of((enum ibv_qp_state)state);
		must_hold(!ibv_modify_qp(qp, &attr, masks[state]) || state == IBV_QPS_RTS,
			  "cannot connect");
	}
}

static void close_device(void)
{
	for (int i = 0; i < KINDS; i++)
		ibv_destroy_qp(qps[i]);
	ibv_destroy_srq(srq);
	ibv_close_xrcd(xrcd);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	rmdir(fabric);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	enter_namespace();
	must_hold(mkdtemp(fabric), "no directory");
	setenv("VERBATIM_SOFT_FABRIC", fabric, 1);
	setenv("VERBATIM_SOFT_WIRE", HERE, 1);
	open_objects();
	for (int i = 0; i < KINDS; i++)
		qps[i] = open_qp(kinds[i]);
	open_peer();
	atexit(close_device);
	return 0;
}

/* @number: in its train */
static void write_icrc(uint8_t *packet, size_t size, uint32_t damage, uint16_t number)
{
	struct icrc_ends ends = { .src_port = HEADER_UDP_PORT, .id = number };
	uint32_t crc;

	inet_pton(AF_INET6, "::ffff:" HERE, &ends.dst);
	inet_pton(AF_INET6, "::ffff:" THERE, &ends.src);
	if (size >= HEADER_BTH_SIZE + HEADER_ICRC) {
		crc = icrc_add_bth(icrc_begin(&(struct icrc_start){ 0 }, &ends, size), packet);
		crc = icrc_add(crc, packet + HEADER_BTH_SIZE, size - HEADER_BTH_SIZE - HEADER_ICRC);
		icrc_write(crc ^ damage, packet + size - HEADER_ICRC);
	}
}

/* @len: of each packet but the last; 0: it is one */
static void send_packets(uint8_t *packets, size_t size, uint16_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(HEADER_UDP_PORT) };
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(len))];
	} control = { .header = { CMSG_LEN(sizeof(len)), IPPROTO_UDP, UDP_SEGMENT } };
	struct iovec piece = { packets, size };
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &piece,
		.msg_iovlen = 1,
	};

	inet_pton(AF_INET, HERE, &to.sin_addr);
	memcpy(CMSG_DATA(&control.header), &len, sizeof(len));
	if (len) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
	}
	sendmsg(peer, &msg, 0);
}

static void send_packet(uint8_t *packet, size_t size, uint32_t damage)
{
	write_icrc(packet, size, damage, 0);
	send_packets(packet, size, 0);
}

/* Choose a boundary length, or any other. */
static uint32_t choose_length(uint8_t low, uint8_t high)
{
	static const uint16_t often[] = { 0, 1, 4, 8, 1023, 1024, 1028, 2048, 4096 };

	if (high < 192)
		return often[low % (sizeof(often) / sizeof(*often))];
	return (uint32_t)(high << 8 | low) % LONGEST;
}

static uint64_t choose_address(uint8_t byte)
{
	uint64_t at = (uintptr_t)region;

	if (byte < 128)
		return at + byte * 8ull;
	return byte < 192 ? at + PART - (byte - 128ull) * 16 : at + byte * 0x1000000001ull;
}

static void fill_header(const uint8_t *s, struct header *h)
{
	unsigned int kind = s[1] % KINDS;
	uint32_t rkey = mr->rkey + (s[6] % 16 == 15);

	*h = (struct header){
		.bth = { .opcode = transports[kind] | (s[2] & 31),
			 .solicited = s[3] & 1,
			 .ack_request = s[3] >> 1 & 1,
			 .pkey = s[3] % 64 == 63 ? 1 : 0xffff,
			 .dest_qp = s[3] % 32 == 31 ? 1 : qps[kind]->qp_num,
			 .psn = (PSN + (uint32_t)(int8_t)s[4]) & PSN_MASK },
		.deth = { .qkey = s[6] % 16 == 15 ? (uint32_t)0x80010000 : QKEY, .src_qp = s[5] },
		.xrceth.srqn = s[6] % 8 == 7 ? s[5] : srqn,
		.reth = { choose_address(s[5]), rkey, choose_length(s[7], s[8]) },
		.atomic = { choose_address(s[5]), rkey, s[7], s[8] },
		.aeth = { s[5], s[7] },
		.immdt.imm = s[5],
		.ieth.rkey = rkey,
	};
	if (s[9] % 32 == 31)
		h->bth.opcode = s[2];
	if (s[9] % 64 == 63)
		h->reth.length = UINT32_MAX - s[7];
}

/* A packet whose header is known to the device, or its bytes as they are. */
static void tell_device(const uint8_t *s)
{
	uint8_t packet[PACKET] = { 0 };
	uint32_t len = choose_length(s[10], s[11]), damage = s[9] % 128 == 127;
	struct header h;
	size_t size;

	fill_header(s, &h);
	h.bth.pad = s[9] % 16 == 15 ? s[8] : -len & 3;
	size = header_size(h.bth.opcode) ? header_write(&h, packet) : 0;
	if (!size || s[0] % 16 == 15) {
		memcpy(packet, s, STEP);
		size = HEADER_BTH_SIZE;
	}
	memset(packet + size, s[10], len);
	size += len + (-len & 3) + HEADER_ICRC;
	send_packet(packet, size - (s[9] % 16 == 14 ? s[8] % 4 : 0), damage);
}

/* The PSNs follow each other, but at one place. */
static void tell_train(const uint8_t *s)
{
	static uint8_t packets[TRAIN_BYTES + PACKET];
	unsigned int most = 2 + s[7] % (TRAIN - 1), odd = s[8] % TRAIN, i;
	uint32_t len = choose_length(s[10], s[11]);
	size_t size = 0, at = 0;
	struct header h;

	fill_header(s, &h);
	h.bth.pad = -len & 3;
	for (i = 0; i < most && at + size <= TRAIN_BYTES && header_size(h.bth.opcode); i++) {
		size = header_write(&h, packets + at);
		memset(packets + at + size, s[10] + i, len);
		size += len + h.bth.pad + HEADER_ICRC;
		write_icrc(packets + at, size, i == odd && s[9] % 8 == 7, i);
		at += size;
		h.bth.psn = psn_add(h.bth.psn, i == odd ? (uint32_t)(int8_t)s[9] : 1);
	}
	if (at)
		send_packets(packets, at, size);
}

static void post_send(const uint8_t *s)
{
	struct ibv_sge sge = { choose_address(s[5] % 192), choose_length(s[7], s[8]), mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = s[2] % 7,
		.send_flags = s[3] & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED),
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;
	struct ibv_qp *qp = qps[s[1] & 1 ? 4 : s[1] % 3 & 1];

	if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP)
		sge.length = 8;
	wr.wr.atomic.remote_addr = wr.wr.rdma.remote_addr = 64;
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = s[4];
	ibv_post_send(qp, &wr, &bad);
}

static void post_recv(const uint8_t *s)
{
	struct ibv_sge sge = { (uintptr_t)region + s[5], choose_length(s[7], s[8]),
			       mr->lkey + (s[6] % 32 == 31) };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	unsigned int kind = s[1] % KINDS;

	if (sge.length > PART - 256)
		sge.length = 64;
	if (kinds[kind] == IBV_QPT_XRC_RECV || kinds[kind] == IBV_QPT_XRC_SEND)
		ibv_post_srq_recv(srq, &wr, &bad);
	else
		ibv_post_recv(qps[kind], &wr, &bad);
}

static void change_state(const uint8_t *s)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_ERR, IBV_QPS_SQD, IBV_QPS_RTS };
	struct ibv_qp_attr attr = { .qp_state = states[s[2] % 3] };
	struct ibv_qp *qp = qps[s[1] % KINDS];

	if (s[3] % 4)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	else
		connect_qp(qp);
}

/* A poll receives what has arrived, and executes what it asks for. */
static void poll_device(void)
{
	struct ibv_wc wc[16];

	for (int i = 0; i < 3; i++)
		must_hold(ibv_poll_cq(cq, 16, wc) >= 0, "the queue overruns");
}

static void take_step(const uint8_t *s)
{
	switch (*s % 16) {
	case 0:
	case 1:
		post_send(s);
		break;
	case 2:
	case 3:
	case 4:
		post_recv(s);
		break;
	case 5:
		change_state(s);
		break;
	case 6:
	case 7:
		tell_train(s);
		break;
	default:
		tell_device(s);
	}
	if (*s & 16)
		poll_device();
}

static void drain_peer(void)
{
	uint8_t packet[PACKET];

	while (recv(peer, packet, sizeof(packet), MSG_DONTWAIT) >= 0)
		;
}

static void expect_guards(void)
{
	for (int i = 0; i < PART; i++)
		must_hold(!memory[i] && !memory[2 * PART + i], "memory beside the region changed");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct ibv_async_event event;

	for (int i = 0; i < KINDS; i++)
		connect_qp(qps[i]);
	for (int i = 0; i < STEPS && (size_t)(i + 1) * STEP <= n; i++)
		take_step(bytes + (size_t)i * STEP);
	poll_device();
	poll_device();
	drain_peer();
	expect_guards();
	fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
	while (!ibv_get_async_event(context, &event))
		ibv_ack_async_event(&event);
	return 0;
}
