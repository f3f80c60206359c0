/*
 * A program that forbids itself system calls, and continues with all kinds of verbs
 *
 *	shut HOW THEN MESSAGES CALL...
 *
 * HOW: prctl, seccomp, all (for all threads), child (a child does it), twice (first a filter that
 * allows all)
 * THEN: kill, errno, trap: what the kernel does at a forbidden call
 * CALL: a number that is forbidden; or "only": all but those that follow
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(holds)                                                         \
	do {                                                                \
		if (!(holds)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #holds); \
			exit(9);                                            \
		}                                                           \
	} while (0)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char buffer[8192];

static void connect_qp(void)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 7 };
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = qp->qp_num,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 12,
				   .ah_attr = { .port_num = 1, .is_global = 1 } };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 1 };

	MUST(!ibv_query_port(context, 1, &port));
	rtr.ah_attr.dlid = port.lid;
	rtr.ah_attr.grh.hop_limit = 1;
	MUST(!ibv_query_gid(context, 1, 0, &rtr.ah_attr.grh.dgid));
	MUST(!ibv_modify_qp(qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	MUST(!ibv_modify_qp(qp, &rtr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	MUST(!ibv_modify_qp(qp, &rts,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = { .cap = { 16, 16, 4, 4, 0 }, .qp_type = IBV_QPT_RC };

	MUST(list && list[0]);
	context = ibv_open_device(list[0]);
	MUST(context);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 7);
	attr.send_cq = attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	MUST(pd && cq && mr && qp);
	connect_qp();
}

static void send_one(void)
{
	struct ibv_sge from = { (uintptr_t)buffer, 64, mr->lkey };
	struct ibv_sge to = { (uintptr_t)buffer + 4096, 64, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc[4];

	MUST(!ibv_post_recv(qp, &recv, &bad_recv));
	MUST(!ibv_post_send(qp, &send, &bad));
	for (int done = 0; done < 2;) {
		int n = ibv_poll_cq(cq, 4, wc);

		MUST(n >= 0);
		for (int i = 0; i < n; i++)
			MUST(!wc[i].status);
		done += n;
	}
}

static void use_objects(void)
{
	struct ibv_pd *more = ibv_alloc_pd(context);

	MUST(more && !ibv_dealloc_pd(more));
}

static void make_filter(int argc, char **argv, const char *then, struct sock_fprog *ret_filter)
{
	const bool only = argc && !strcmp(argv[0], "only");
	const uint32_t no = !strcmp(then, "kill")    ? SECCOMP_RET_KILL_PROCESS
			    : !strcmp(then, "errno") ? SECCOMP_RET_ERRNO | EPERM
						     : SECCOMP_RET_TRAP;
	struct sock_filter *code = calloc((size_t)argc * 2 + 2, sizeof(*code));
	unsigned short n = 0;

	MUST(code);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int i = only; i < argc; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)atoi(argv[i]), 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							 only ? SECCOMP_RET_ALLOW : no);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, only ? no : SECCOMP_RET_ALLOW);
	*ret_filter = (struct sock_fprog){ n, code };
}

static void install_filter(const char *how, const struct sock_fprog *filter)
{
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(how, "seccomp") || !strcmp(how, "all"))
		MUST(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      strcmp(how, "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, filter));
	else
		MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter));
}

static void shut_in(const char *how, int argc, char **argv, const char *then)
{
	struct sock_fprog filter;

	if (!strcmp(how, "twice")) {
		make_filter(0, NULL, then, &filter);
		install_filter("prctl", &filter);
	}
	make_filter(argc, argv, then, &filter);
	install_filter(how, &filter);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER, end = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready;

/*
 * The thread has a ring before the filter is installed; a normal exit would need more system calls.
 */
static void *send_beside(void *unused)
{
	use_objects();
	ready = 1;
	pthread_mutex_lock(&turn);
	for (int i = 0; i < 100; i++)
		send_one();
	pthread_mutex_unlock(&turn);
	ready = 2;
	pthread_mutex_lock(&end);
	return unused;
}

static void await_state(int state)
{
	while (ready < state)
		sched_yield();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;
	pid_t child = 0;

	MUST(argc > 4);
	open_device();
	send_one();
	if (!strcmp(argv[1], "all")) {
		pthread_mutex_lock(&turn);
		pthread_mutex_lock(&end);
		MUST(!pthread_create(&thread, NULL, send_beside, NULL));
		await_state(1);
	}
	if (!strcmp(argv[1], "child"))
		child = fork();
	if (!child) {
		if (!strcmp(argv[1], "child"))
			open_device(); /* the parent's is not the child's */
		shut_in(argv[1], argc - 4, argv + 4, argv[2]);
		for (int i = 0; i < atoi(argv[3]); i++)
			send_one();
		use_objects();
	}
	if (!strcmp(argv[1], "all")) {
		pthread_mutex_unlock(&turn);
		await_state(2);
	}
	if (!strcmp(argv[1], "child") && !child)
		_exit(0);
	MUST(!child || (waitpid(child, &status, 0) == child && !status));
	send_one();
	printf("sent\n");
	fflush(stdout);
	_exit(0);
}
