/*
 * Two processes on a link that loses, doubles, reorders and damages packets, each with a fabric of
 * its own: everything arrives once, and in order, with each path MTU.
 *
 * The link is the device's own, or with NETEM="loss 1% ..." the kernel's, for a machine whose
 * kernel has it.
 *
 * ROUNDS=2800 is an hour's worth: 168,000 messages and as many atomics with each path MTU, at 230 a
 * second. The tests can run beside each other.
 */
#define TEST_MAIN
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/shim/soft/network/stranger.h"

enum {
	MESSAGES = 60, /* ROUNDS times as many */
	LONGEST = 20000,
	COUNTER = END_BYTES - 64, /* offset in the receiver's memory: each atomic adds 1 */
	QUEUED = 8,
};

static const char bad[] = "loss=1% duplicate=1% reorder=5% corrupt=0.5% seed=";

/* A second address of the loopback interface. */
static void add_address(void)
{
	struct ifreq second = { .ifr_name = "lo:1" };
	struct sockaddr_in *in = (struct sockaddr_in *)&second.ifr_addr;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	in->sin_family = AF_INET;
	inet_pton(AF_INET, "127.0.0.2", &in->sin_addr);
	if (fd < 0 || ioctl(fd, SIOCSIFADDR, &second) < 0)
		skipped = "no second address";
	close(fd);
}

static void impair_interface(const char *netem)
{
	char command[200];

	snprintf(command, sizeof(command), "tc qdisc add dev lo root netem %s", netem);
	if (system(command))
		skipped = "no netem";
}

static int make_network(void **state)
{
	(void)state;
	enter_namespace();
	if (!skipped)
		add_address();
	if (!skipped && getenv("NETEM"))
		impair_interface(getenv("NETEM"));
	return 0;
}

GROUP(make_network, NULL);

/* One of the two processes. */
struct side {
	struct end own;
	struct address other;
	const char *address;
	enum ibv_mtu mtu;
	int line; /* to the other one */
	char fabric[40];
};

static void open_side(struct side *s, const char *wire, int seed)
{
	char model[100];

	snprintf(s->fabric, sizeof(s->fabric), "/dev/shm/verbatim-soft-test.XXXXXX");
	assert_non_null(mkdtemp(s->fabric));
	snprintf(model, sizeof(model), "%s%d", bad, seed);
	setenv("VERBATIM_SOFT_FABRIC", s->fabric, 1);
	setenv("VERBATIM_SOFT_WIRE", wire, 1);
	setenv("VERBATIM_SOFT_LAG", "20000", 1); /* the other one may have no processor for long */
	if (!getenv("NETEM"))
		setenv("VERBATIM_SOFT_LINK_MODEL", model, 1);
	end_open(&s->own);
}

static void connect_side(struct side *s)
{
	struct address own = end_address(&s->own);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = s->mtu,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14, /* 67 ms: a busy machine may take that */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = path_to(s->address),
	};

	assert_int_equal(write(s->line, &own, sizeof(own)), sizeof(own));
	assert_int_equal(read(s->line, &s->other, sizeof(s->other)), sizeof(s->other));
	attr.dest_qp_num = s->other.qpn;
	assert_int_equal(to_init(s->own.qp, ALL_ACCESS), 0);
	assert_int_equal(ibv_modify_qp(s->own.qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(s->own.qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

/* Wait until both processes are ready, or both are done and may leave. */
static void meet_other(struct side *s)
{
	char byte = 0;

	assert_int_equal(write(s->line, &byte, 1), 1);
	assert_int_equal(read(s->line, &byte, 1), 1);
}

static void close_side(struct side *s)
{
	end_close(&s->own);
	assert_int_equal(rmdir(s->fabric), 0);
}

static uint32_t length_of(uint32_t i)
{
	return i % 7 ? (i * 2654435761u >> 8) % LONGEST : i % 5;
}

static uint8_t byte_of(uint32_t i, uint32_t at)
{
	return (uint8_t)(i * 31 + at * 7 + (at >> 8));
}

/* Sleep until a completion is there. */
static struct ibv_wc wait_for_wc(struct end *e)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	for (;;) {
		assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
		if (ibv_poll_cq(e->cq, 1, &wc)) {
			if (wc.status != IBV_WC_SUCCESS)
				fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			return wc;
		}
		assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
}

static void check_message(struct side *s, uint32_t i, const struct ibv_wc *wc, uint32_t slot)
{
	const uint8_t *at = s->own.buf + slot * LONGEST;
	uint32_t k;

	assert_int_equal(ntohl(wc->imm_data), i);
	assert_int_equal(wc->byte_len, length_of(i));
	for (k = 0; k < wc->byte_len; k++)
		assert_int_equal(at[k], byte_of(i, k));
}

/* Each message once, in order; and each atomic, which comes before every message, once. */
static void receive_all(struct side *s, uint32_t n)
{
	uint64_t *counter = (void *)(s->own.buf + COUNTER);
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < QUEUED; i++)
		assert_int_equal(recv_at(&s->own, i, i * LONGEST, LONGEST), 0);
	meet_other(s);
	for (i = 0; i < n; i++) {
		wc = wait_for_wc(&s->own);
		check_message(s, i, &wc, i % QUEUED);
		assert_true(*counter >= i + 1);
		assert_int_equal(recv_at(&s->own, i, i % QUEUED * LONGEST, LONGEST), 0);
	}
	meet_other(s);
	assert_int_equal(*counter, n);
}

static void add_one(struct side *s, uint32_t i)
{
	struct ibv_send_wr wr = { .wr_id = i, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = s->other.addr + COUNTER;
	wr.wr.atomic.rkey = s->other.rkey;
	wr.wr.atomic.compare_add = 1;
	assert_int_equal(send_wr(&s->own, wr, sge_of(&s->own, COUNTER + i % 4 * 8, 8)), 0);
}

static void send_message(struct side *s, uint32_t i)
{
	struct ibv_send_wr wr = {
		.wr_id = i,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(i),
	};
	uint8_t *at = s->own.buf + i % 4 * LONGEST;
	uint32_t length = length_of(i), k;

	for (k = 0; k < length; k++)
		at[k] = byte_of(i, k);
	assert_int_equal(send_wr(&s->own, wr, sge_of(&s->own, i % 4 * LONGEST, length)), 0);
}

/* The atomics return 0, 1, 2, ... */
static void take_pair(struct side *s, uint32_t i)
{
	const uint64_t *old = (void *)(s->own.buf + COUNTER + i % 4 * 8);

	assert_int_equal(wait_for_wc(&s->own).wr_id, i);
	assert_int_equal(wait_for_wc(&s->own).wr_id, i);
	assert_int_equal(*old, i);
}

static void send_all(struct side *s, uint32_t n)
{
	uint32_t i;

	meet_other(s);
	for (i = 0; i < n; i++) {
		if (i >= 4)
			take_pair(s, i - 4);
		add_one(s, i);
		send_message(s, i);
	}
	for (i = n - 4; i < n; i++)
		take_pair(s, i);
	meet_other(s);
}

/* requester_test SENDER LINE MTU: one of the two processes. */
static int run_side(char **argv, uint32_t n)
{
	bool sends = atoi(argv[1]);
	struct side s = {
		.line = atoi(argv[2]),
		.mtu = (enum ibv_mtu)atoi(argv[3]),
		.address = sends ? "::ffff:127.0.0.2" : "::ffff:127.0.0.1",
	};

	open_side(&s, sends ? "127.0.0.1" : "127.0.0.2", (int)s.mtu + 10 * sends);
	connect_side(&s);
	if (sends)
		send_all(&s, n);
	else
		receive_all(&s, n);
	close_side(&s);
	return 0;
}

static pid_t start_side(bool sends, int line, enum ibv_mtu mtu)
{
	char texts[3][12];
	char *const argv[] = { "requester_test", texts[0], texts[1], texts[2], NULL };
	pid_t pid;

	snprintf(texts[0], sizeof(texts[0]), "%d", sends);
	snprintf(texts[1], sizeof(texts[1]), "%d", line);
	snprintf(texts[2], sizeof(texts[2]), "%d", mtu);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	return pid;
}

static void expect_success(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A process that fails closes its end of the line, which ends the other one. */
static void exchange_messages(enum ibv_mtu mtu)
{
	pid_t sender, receiver;
	int lines[2];

	NEEDS_NETWORK();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, lines), 0);
	fcntl(lines[1], F_SETFD, FD_CLOEXEC);
	sender = start_side(true, lines[0], mtu);
	fcntl(lines[0], F_SETFD, FD_CLOEXEC);
	fcntl(lines[1], F_SETFD, 0);
	receiver = start_side(false, lines[1], mtu);
	close(lines[0]);
	close(lines[1]);
	expect_success(sender);
	expect_success(receiver);
}

TEST(all_arrives_once_in_packets_of_256)
{
	exchange_messages(IBV_MTU_256);
}

TEST(all_arrives_once_in_packets_of_512)
{
	exchange_messages(IBV_MTU_512);
}

TEST(all_arrives_once_in_packets_of_1024)
{
	exchange_messages(IBV_MTU_1024);
}

TEST(all_arrives_once_in_packets_of_2048)
{
	exchange_messages(IBV_MTU_2048);
}

TEST(all_arrives_once_in_packets_of_4096)
{
	exchange_messages(IBV_MTU_4096);
}

int main(int argc, char **argv)
{
	const char *rounds = getenv("ROUNDS");

	if (argc != 4)
		return test_run(argv);
	return run_side(argv, MESSAGES * (uint32_t)(rounds ? atoi(rounds) : 1));
}
