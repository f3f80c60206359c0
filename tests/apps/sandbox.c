/*
 * A program that restricts itself: from some moment on the kernel may kill it for reading memory by
 * process_vm_readv(2).
 *
 * 	sandbox WHEN HOW WHAT [COMMAND...]
 *
 * WHEN: early (before the first verb), late (between two messages), exec (it then becomes COMMAND,
 * or itself with "never"), threads (while another thread sends), never HOW: prctl, seccomp, libcs
 * (syscall(2) of prctl) WHAT: kill, trap, open (all is allowed), bad (it is not accepted)
 *
 * Sends itself messages, half of them before that, and prints how many arrived.
 */
#include "tests/apps/app.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MESSAGES = 20 };

static atomic_int came, enough = MESSAGES; /* with threads: more */
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static const char *how, *what;

static void send_one(void)
{
	struct ibv_sge to = { (uintptr_t)mr->addr + 64, 64, mr->lkey };
	struct ibv_sge from = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad));
	for (int done = 0; done < 2;) {
		int got = ibv_poll_cq(qp->send_cq, 1, &wc);

		MUST(got < 0 || (got && wc.status));
		done += got;
	}
	came++;
}

static long install_filter(const void *filter, bool all_threads)
{
	if (!strcmp(how, "seccomp"))
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			       all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0, filter);
	if (!strcmp(how, "libcs"))
		return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
}

static void shut_in(bool all_threads)
{
	uint32_t then = !strcmp(what, "open")   ? SECCOMP_RET_ALLOW
			: !strcmp(what, "trap") ? SECCOMP_RET_TRAP
						: SECCOMP_RET_KILL_PROCESS;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, then),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(what, "bad"))
		MUST(install_filter(NULL, all_threads) != -1 || errno != EFAULT);
	else
		MUST(install_filter(&filter, all_threads));
}

static void *send_all(void *unused)
{
	while (came < enough)
		send_one();
	return unused;
}

static void open_all(void)
{
	static char buffer[128];
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));

	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	qp = create_rc_qp(pd, NEED(ibv_create_cq(context, 16, NULL, NULL, 0)));
	connect_to_itself(context, qp);
}

int main(int argc, char **argv)
{
	const char *when = NEED(argc > 3 ? argv[1] : NULL);
	char *again[] = { argv[0], "never", "prctl", "kill", NULL };
	pthread_t thread;

	how = argv[2];
	what = argv[3];
	if (!strcmp(when, "early") || !strcmp(when, "exec"))
		shut_in(false);
	if (!strcmp(when, "exec")) {
		execv(argv[4] ? argv[4] : argv[0], argv[4] ? argv + 4 : again);
		return 2;
	}
	open_all();
	if (!strcmp(when, "threads")) {
		enough = INT32_MAX;
		MUST(pthread_create(&thread, NULL, send_all, NULL));
		while (came < MESSAGES)
			;
		shut_in(true);
		enough = came + MESSAGES;
		MUST(pthread_join(thread, NULL));
	}
	while (came < MESSAGES / 2)
		send_one();
	if (!strcmp(when, "late"))
		shut_in(false);
	send_all(NULL);
	puts(came == enough ? "all came" : "some did not come");
	return 0;
}
