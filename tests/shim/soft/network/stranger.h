#pragma once
/*
 * The device, and a stranger in its network: sockets that send any packet, and see what is
 * answered. All in a network namespace of its own, on its loopback interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "shim/soft/wire/header.h"
#include "shim/soft/wire/icrc.h"
#include "shim/soft/wire/psn.h"
#include "tests/shim/soft/pair.h"

enum { PSN = 0xfffffe, QKEY = 0x1234, MTU = 1024, PART = 4096, PACKET = 8192, DATAGRAM = 2048 };

static struct end end;
static struct ibv_qp *datagrams;
static int peer = -1, stranger = -1;
static const char *skipped;

/* What connect_qp() sets: timeout, retries, and the transport of the queue pair. */
static struct {
	uint8_t timeout, retry_cnt, rnr_retry, max_rd_atomic;
} settings = { .timeout = 10, .retry_cnt = 1, .max_rd_atomic = 4 };

/* A completion that a wait has met; NULL: it is forgotten. */
static void (*meet_completion)(const struct ibv_wc *wc);

HELPER void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		skipped = "no user namespace";
	if (fd >= 0)
		close(fd);
}

/* Uid 0 in the user namespace, so that files have an owner. */
HELPER void map_user(unsigned int uid, unsigned int gid)
{
	char text[64];

	write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", uid);
	write_text("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", gid);
	write_text("/proc/self/gid_map", text);
}

HELPER void enter_namespace(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	/* below a changed root (scripts/vm) there is no user namespace, but root needs none */
	if (!unshare(CLONE_NEWUSER | CLONE_NEWNET))
		map_user(uid, gid);
	else if (unshare(CLONE_NEWNET) < 0)
		skipped = "no network namespace";
	if (skipped)
		return;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		skipped = "no loopback interface";
	close(fd);
}

HELPER int open_at(const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(HEADER_UDP_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), discover = IP_PMTUDISC_DO;

	inet_pton(AF_INET, address, &at.sin_addr);
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

HELPER struct ibv_ah_attr path_to(const char *address)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };

	inet_pton(AF_INET6, address, &attr.grh.dgid);
	return attr;
}

/* RESET to RTS, whatever happened before. */
HELPER void connect_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RESET,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x77,
		.rq_psn = PSN,
		.sq_psn = PSN,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = settings.max_rd_atomic,
		.min_rnr_timer = 12,
		.retry_cnt = settings.retry_cnt,
		.rnr_retry = settings.rnr_retry,
		.timeout = settings.timeout,
		.qkey = QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.ah_attr = path_to("::ffff:127.0.0.2"),
	};
	bool ud = qp->qp_type == IBV_QPT_UD, rc = !ud && qp->qp_type != IBV_QPT_UC;

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
			 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      ud ? IBV_QP_STATE
				 : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					      IBV_QP_RQ_PSN |
					      (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
						  : 0)),
		0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       !rc ? IBV_QP_STATE | IBV_QP_SQ_PSN
					   : IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
						       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

HELPER void post_recv_on(struct ibv_qp *qp, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)end.buf + offset, length, end.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = offset, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

HELPER int open_device(void **state)
{
	(void)state;
	enter_namespace();
	if (skipped)
		return 0;
	fabric_setup(NULL);
	setenv("VERBATIM_SOFT_WIRE", "127.0.0.1", 1);
	end.context = open_context();
	end.pd = ibv_alloc_pd(end.context);
	end.cq = ibv_create_cq(end.context, END_CQE, NULL, NULL, 0);
	end.buf = aligned_alloc(4096, 3 * PART);
	memset(end.buf, 0, 3 * PART);
	end.mr = ibv_reg_mr(end.pd, end.buf + PART, PART,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	end.buf += PART;
	end.qp = make_qp_of(&end, IBV_QPT_RC, NULL);
	datagrams = make_qp_of(&end, IBV_QPT_UD, NULL);
	connect_qp(datagrams);
	peer = open_at("127.0.0.2");
	stranger = open_at("127.0.0.3");
	return 0;
}

HELPER int close_device(void **state)
{
	(void)state;
	if (skipped)
		return 0;
	ibv_destroy_qp(end.qp);
	ibv_destroy_qp(datagrams);
	ibv_dereg_mr(end.mr);
	ibv_destroy_cq(end.cq);
	ibv_dealloc_pd(end.pd);
	ibv_close_device(end.context);
	close(peer);
	close(stranger);
	return fabric_teardown(NULL);
}

/* A packet from @fd with this header, @len bytes and padding. */
HELPER void send_from(int fd, const char *address, struct header *h, const uint8_t *payload,
		      size_t len, uint32_t damage)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(HEADER_UDP_PORT) };
	struct icrc_ends ends = { .src_port = HEADER_UDP_PORT };
	uint8_t packet[PACKET] = { 0 };
	size_t size, pad = -len & 3;
	uint32_t crc;

	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &ends.dst);
	inet_pton(AF_INET6, address, &ends.src);
	h->bth.pad = pad;
	size = header_write(h, packet);
	memcpy(packet + size, payload, len);
	size += len + pad + HEADER_ICRC;
	crc = icrc_add_bth(icrc_begin(&(struct icrc_start){ 0 }, &ends, size), packet);
	crc = icrc_add(crc, packet + HEADER_BTH_SIZE, size - HEADER_BTH_SIZE - HEADER_ICRC);
	icrc_write(crc ^ damage, packet + size - HEADER_ICRC);
	assert_int_equal(sendto(fd, packet, size, 0, (struct sockaddr *)&to, sizeof(to)), size);
}

HELPER void send_as_peer(struct header *h, const uint8_t *payload, size_t len)
{
	send_from(peer, "::ffff:127.0.0.2", h, payload, len, 0);
}

HELPER struct header header_of(uint8_t opcode, uint32_t psn)
{
	return (struct header){
		.bth = { .opcode = opcode,
			 .pkey = 0xffff,
			 .dest_qp = end.qp->qp_num,
			 .psn = psn,
			 .ack_request = 1 },
	};
}

static const uint8_t bytes[PACKET] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* A datagram, which has its completion. */
HELPER void await_datagram(void)
{
	struct header h = header_of(OPCODE_UD | OPCODE_SEND_ONLY, 0);
	struct ibv_wc wc;
	int n;

	post_recv_on(datagrams, DATAGRAM, 64);
	h.bth.dest_qp = datagrams->qp_num;
	h.deth.qkey = QKEY;
	send_as_peer(&h, bytes, 8);
	do {
		n = ibv_poll_cq(end.cq, 1, &wc);
		assert_true(n >= 0);
		if (n && wc.qp_num != datagrams->qp_num && meet_completion)
			meet_completion(&wc);
	} while (!n || wc.qp_num != datagrams->qp_num);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 40 + 8);
}

/*
 * When a datagram arrives, every packet before it has been taken. They are answered after the batch
 * that they are in, which is before the next datagram is taken.
 */
HELPER void wait_until_taken(void)
{
	await_datagram();
	await_datagram();
}

/* The last packet: a sum of all bytes but the ICRC, and whether that is right. */
static uint32_t packet_sum;
static bool packet_is_sound;

HELPER uint32_t sum_bytes(const uint8_t *at, size_t n)
{
	uint32_t sum = 0;

	while (n--)
		sum = sum * 31 + *at++;
	return sum;
}

enum { TRAIN = 64 /* packets that one call sends: the kernel numbers them from 0 */ };

HELPER void judge_packet(const uint8_t *packet, size_t size, uint16_t port)
{
	struct icrc_ends ends = { .src_port = port };
	uint8_t wanted[HEADER_ICRC];
	uint32_t crc;

	packet_sum = size > HEADER_ICRC ? sum_bytes(packet, size - HEADER_ICRC) : 0;
	packet_is_sound = false;
	if (size < HEADER_BTH_SIZE + HEADER_ICRC)
		return;
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &ends.src);
	inet_pton(AF_INET6, "::ffff:127.0.0.2", &ends.dst);
	for (; ends.id < TRAIN && !packet_is_sound; ends.id++) {
		crc = icrc_add_bth(icrc_begin(&(struct icrc_start){ 0 }, &ends, size), packet);
		crc = icrc_add(crc, packet + HEADER_BTH_SIZE, size - HEADER_BTH_SIZE - HEADER_ICRC);
		icrc_write(crc, wanted);
		packet_is_sound = !memcmp(wanted, packet + size - HEADER_ICRC, HEADER_ICRC);
	}
}

/*
 * The next packet to the peer, if there is one. Returns the bytes of its payload; -1: there is
 * none; -2: it has no header that is known.
 */
HELPER int take_packet(struct header *h, uint8_t payload[PACKET])
{
	struct sockaddr_in from = { 0 };
	socklen_t from_size = sizeof(from);
	uint8_t packet[PACKET];
	ssize_t n = recvfrom(peer, packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&from,
			     &from_size);
	size_t size;

	memset(h, 0, sizeof(*h));
	judge_packet(packet, n > 0 ? (size_t)n : 0, ntohs(from.sin_port));
	size = n > 0 ? header_read(h, packet, n) : 0;
	if (!size)
		return n > 0 ? -2 : -1;
	n -= (ssize_t)(size + h->bth.pad + HEADER_ICRC);
	memcpy(payload, packet + size, n > 0 ? (size_t)n : 0);
	return n > 0 ? (int)n : 0;
}

HELPER bool take_answer(struct header *h)
{
	uint8_t payload[PACKET];

	return take_packet(h, payload) != -1;
}

HELPER int qp_state(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

#define NEEDS_NETWORK()         \
	do {                    \
		if (skipped)    \
			skip(); \
	} while (0)
