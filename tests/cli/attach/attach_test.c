/*
 * What `verbatim attach --facts` prints about programs on the software device: attach_test.txt
 *
 * Each is this program again, with the device preloaded. What differs between machines or runs is
 * left out: threads and limits. Without --facts its memory would be searched, for a limited time.
 */
#define TEST_MAIN
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "tests/shim/soft/pair.h"
#include "tests/transcript.h"

enum { TEXT = 64 << 10 };

/* The programs */

static struct pair *p;

static void open_pair(void)
{
	void *state;

	pair_setup(&state);
	p = state;
}

static int send_unsignalled(struct end *e, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(e, 0, 8);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	return ibv_post_send(e->qp, &wr, &bad);
}

/* All receives are used, none of the sends is signalled, and the queue is full. */
static void fill_queue(void)
{
	open_pair();
	for (unsigned int i = 0; i < END_DEPTH; i++)
		recv_at(&p->b, i, 64 * i, 64);
	for (unsigned int i = 0; !send_unsignalled(&p->a, i); i++)
		;
}

/* Completions have arrived in a queue that is not armed; one event is not acknowledged. */
static void lose_event(void)
{
	struct ibv_cq *cq;
	void *context;

	open_pair();
	ibv_req_notify_cq(p->b.cq, 0);
	for (unsigned int i = 0; i < 4; i++)
		recv_at(&p->b, i, 64 * i, 64);
	send_at(&p->a, 1, 0, 8);
	ibv_get_cq_event(p->b.channel, &cq, &context);
	for (unsigned int i = 0; i < 2; i++)
		send_at(&p->a, 2 + i, 0, 8);
	for (int i = 0; i < 3; i++)
		poll_one(p->a.cq);
	ibv_req_notify_cq(p->a.cq, 0);
}

/* Queue pairs of other types and states, and a shared receive queue with a limit. */
static void make_others(void)
{
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 3 } };
	struct ibv_srq *srq;

	open_pair();
	srq = ibv_create_srq(p->b.pd, &init);
	for (unsigned int i = 0; i < 5; i++) {
		struct ibv_sge sge = sge_of(&p->b, 64 * i, 64);
		struct ibv_recv_wr wr = { i, NULL, &sge, 1 }, *bad;

		ibv_post_srq_recv(srq, &wr, &bad);
	}
	make_qp(&p->b, srq);
	to_init(make_qp_of(&p->a, IBV_QPT_UC, NULL), 0);
	make_qp_of(&p->a, IBV_QPT_UD, NULL);
	ibv_destroy_qp(make_qp(&p->a, NULL));
	rdma_at(&p->a, IBV_WR_RDMA_WRITE, 7, 8, 0x1000, p->b.mr->rkey + 1);
	expect_wc(p->a.cq, 7, IBV_WC_REM_ACCESS_ERR);
	ibv_reg_mr_iova(p->a.pd, p->a.buf + 4096, 100, 0x10000, IBV_ACCESS_REMOTE_READ);
}

/* As connect_to(), but a request waits for its answer forever. */
static void connect_patiently(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .rnr_retry = 7, .max_rd_atomic = 1 };

	assert_int_equal(to_init(qp, ALL_ACCESS) | to_rtr(qp, dest), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

/* The other end is destroyed while a request is outstanding. */
static void lose_peer(void)
{
	open_pair();
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_patiently(p->a.qp, p->b.qp->qp_num);
	send_at(&p->a, 1, 0, 8);
	ibv_destroy_qp(p->b.qp);
}

/* Another process is the peer, and has ended. */
static void outlive_peer(void)
{
	uint32_t number;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		struct end e;

		end_open(&e);
		connect_to(e.qp, 17);
		number = e.qp->qp_num;
		_exit(write(fds[1], &number, sizeof(number)) < 0);
	}
	p = calloc(1, sizeof(*p));
	waitpid(pid, &status, 0);
	assert_int_equal(read(fds[0], &number, sizeof(number)), sizeof(number));
	end_open(&p->a);
	connect_patiently(p->a.qp, number);
	send_at(&p->a, 1, 0, 8);
}

static const struct program {
	const char *name;
	void (*run)(void);
} programs[] = {
	{ "a full queue", fill_queue },
	{ "a lost event", lose_event },
	{ "other states and types", make_others },
	{ "a destroyed peer", lose_peer },
	{ "a peer that has ended", outlive_peer },
};

static int run_program(const char *name)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(programs[i].name, name))
			programs[i].run();
	if (write(1, "", 1) != 1)
		return 1;
	for (;;)
		pause();
}

/* The test */

static char device[256]; /* to be preloaded */

/* Lines of what the machine or the moment decides. */
static const char *const varying[] = {
	"\"longest_stop_ns\"", "\"frames\"",           "\"stopped_ns\"",
	"\"resource\"",        "\"kind\": \"sleeps\"", "\"kind\": \"runs\"",
};

static bool line_varies(const char *line, size_t n)
{
	for (size_t i = 0; i < sizeof(varying) / sizeof(*varying); i++)
		if (memmem(line, n, varying[i], strlen(varying[i])))
			return true;
	return false;
}

/* Append @text without these lines, and with PID in place of @pid. */
static void add_output(struct text *out, const char *text, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	for (const char *line = text, *next; *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		if (line_varies(line, n))
			continue;
		for (const char *c = line; c < next;) {
			bool is_pid = !strncmp(c, number, strlen(number)) &&
				      strchr("\" ,", c[strlen(number)]);

			if (is_pid)
				text_addf(out, "PID");
			else
				text_char(out, *c);
			c += is_pid ? strlen(number) : 1;
		}
	}
}

static void run_attach(struct text *out, pid_t pid)
{
	static char text[TEXT];
	char number[16], *words[] = { "attach", "--facts", "--format", "json", number, NULL };
	int file = memfd_create("output", MFD_CLOEXEC), status;
	pid_t command;

	snprintf(number, sizeof(number), "%d", (int)pid);
	fflush(NULL);
	command = fork();
	if (!command) {
		dup2(file, 1);
		status = command_find("attach")->run(5, words);
		fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(command, &status, 0), command);
	memset(text, 0, sizeof(text));
	assert_true(pread(file, text, TEXT - 1, 0) >= 0);
	close(file);
	add_output(out, text, pid);
	text_addf(out, "status %d\n", status);
}

static void attach_to(struct text *out, const struct program *program)
{
	char *words[] = { "attach_test", "run", (char *)program->name, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	setenv("LD_PRELOAD", device, 1);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ), 0);
	unsetenv("LD_PRELOAD");
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1); /* it waits now */
	close(fds[0]);
	text_addf(out, "\n%s\n", program->name);
	run_attach(out, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Programs that were killed leave their files in the fabric. */
static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

TEST(programs_wait_for_what_is_in_the_transcript)
{
	struct text out = { 0 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* the device is not sanitized, and cannot be preloaded */
#endif
	assert_int_equal(fabric_setup(NULL), 0);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		attach_to(&out, &programs[i]);
	assert_int_equal(nftw(fabric_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	transcript_expect(__FILE__, &out);
}

int main(int argc, char **argv)
{
	const char *end = strstr(argv[0], "tests/");

	if (argc == 3 && !strcmp(argv[1], "run"))
		return run_program(argv[2]);
	snprintf(device, sizeof(device), "%.*slibverbatim-soft.so", end ? (int)(end - argv[0]) : 0,
		 argv[0]);
	return test_run(argv);
}
