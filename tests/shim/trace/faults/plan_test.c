/*
 * The faults that are planned for the operations of a process, for many files of rules:
 * plan_test.txt. Each file is that of another child, which prints what it gets.
 */
#include "shim/trace/faults/plan.h"

#include <assert.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/wire/event.h"
#include "shim/trace/ring/mark.h"
#include "tests/test.h"
#include "tests/transcript.h"

#define AT_MOST_2   "at=none:1 verb=alloc_pd delay=1ms\nat=none:2 verb=alloc_pd delay=1ms\n"
#define AT_MOST_8   AT_MOST_2 AT_MOST_2 AT_MOST_2 AT_MOST_2
#define AT_MOST_64  AT_MOST_8 AT_MOST_8 AT_MOST_8 AT_MOST_8 AT_MOST_8 AT_MOST_8 AT_MOST_8 AT_MOST_8
#define AT_MOST_256 AT_MOST_64 AT_MOST_64 AT_MOST_64 AT_MOST_64

static const char *const files[] = {
	"",
	"# nothing\nnonsense\n",
	"verb=reg_mr errno=ENOMEM\n",
	"verb=reg_mr n=2 errno=ENOMEM\nverb=reg_mr errno=EINVAL\n",
	"verb=any n=3 errno=EIO\n",
	"opcode=SEND errno=ENOMEM\n",
	"opcode=RECV qp=17 errno=EINVAL\n",
	"qp=18 status=RETRY_EXC_ERR vendor_err=0x81\n",
	"qp=17 n=2.. delay=1ms\nverb=alloc_pd delay=1us\n",
	"late=5ms\n",
	"opcode=SEND never\nopcode=SEND errno=ENOMEM\n",
	"qp=18 late=1s\nqp=17 delay=2s\n",
	"cm=ESTABLISHED becomes=REJECTED\ncm=ESTABLISHED delay=1ms\n",
	"cm=DISCONNECTED delay=3us\n",
	"mark=here verb=reg_mr errno=ENOMEM\n",
	"phase=warm-up verb=alloc_pd errno=EINVAL\nphase=here verb=reg_mr errno=ENOMEM\n",
	"process=0 verb=reg_mr errno=ENOMEM\nprocess=1 verb=reg_mr errno=EIO\n",
	"thread=0 verb=reg_mr errno=ENOMEM\nthread=1 verb=reg_mr errno=EIO\n",
	"at=call_here verb=reg_mr errno=ENOMEM\nat=call_there errno=EIO\n",
	AT_MOST_256 "at=call_here verb=reg_mr errno=EIO\nverb=alloc_pd errno=EINVAL\n",
	AT_MOST_64 "at=call_here verb=reg_mr errno=EIO\n",
	"rate=1kB\n",
	"opcode=SEND disconnect\n",
	"n=3 kill\n",
	"event=PORT_ERR\n",
};

static struct text out;

static void add_planned(const char *what, struct planned_fault planned)
{
	const struct fault *fault = &planned.fault;

	if (!fault->kind && !planned.pacer && !planned.line)
		return;
	text_addf(&out, "\t%s:", what);
	if (fault->kind || fault->value || fault->vendor_err)
		text_addf(&out, " kind %d value %d vendor_err %#x", fault->kind, fault->value,
			  fault->vendor_err);
	if (fault->ns)
		text_addf(&out, " %s", planned.pacer ? "paced" : "");
	if (fault->ns && !planned.pacer)
		text_addf(&out, "%llu ns", (unsigned long long)fault->ns);
	text_addf(&out, " line %u%s pacer %zu\n", planned.line, planned.quiet ? " quiet" : "",
		  planned.pacer);
}

__attribute__((noinline)) static struct planned_fault call_here(enum verb verb)
{
	struct planned_fault planned = plan_call(verb);

	__asm__ volatile("" ::: "memory");
	return planned;
}

static void *call_in_thread(void *arg)
{
	(void)arg;
	add_planned("reg_mr of a thread", plan_call(VERB_reg_mr));
	return NULL;
}

static void plan_data(void)
{
	struct ibv_wc wc = { .qp_num = 17, .opcode = IBV_WC_SEND };

	add_planned("SEND of 17", plan_request(17, IBV_WR_SEND, 1 << 20));
	add_planned("SEND of 18", plan_request(18, IBV_WR_SEND, 0));
	add_planned("RDMA_WRITE of 17", plan_request(17, IBV_WR_RDMA_WRITE, 1 << 20));
	add_planned("receive of 17", plan_request(17, FAULT_OPCODE_RECV, 64));
	add_planned("completion of 17", plan_completion(&wc));
	wc = (struct ibv_wc){ .qp_num = 18, .opcode = IBV_WC_RECV };
	add_planned("receive of 18 completes", plan_completion(&wc));
	wc.status = IBV_WC_GENERAL_ERR;
	add_planned("receive of 18 fails", plan_completion(&wc));
}

static void plan_all(void)
{
	pthread_t thread;

	plan_open_device();
	add_planned("reg_mr", plan_call(VERB_reg_mr));
	add_planned("reg_mr of call_here", call_here(VERB_reg_mr));
	pthread_create(&thread, NULL, call_in_thread, NULL);
	pthread_join(thread, NULL);
	add_planned("alloc_pd", plan_call(VERB_alloc_pd));
	for (int i = 0; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		add_planned(fault_cm_name(i), plan_cm_event(i));
	plan_data();
	CALL_BACK(mark_seen)(MARK_BEGIN, "warm-up");
	CALL_BACK(mark_seen)(MARK_POINT, "nowhere");
	CALL_BACK(mark_seen)(MARK_POINT, "here");
	add_planned("alloc_pd after marks", plan_call(VERB_alloc_pd));
	add_planned("reg_mr after marks", plan_call(VERB_reg_mr));
	CALL_BACK(mark_seen)(MARK_BEGIN, "warm-up");
	CALL_BACK(mark_seen)(MARK_END, "warm-up");
	CALL_BACK(mark_seen)(MARK_END, "here");
	add_planned("alloc_pd in the outer phase", plan_call(VERB_alloc_pd));
	CALL_BACK(mark_seen)(MARK_END, "warm-up");
	CALL_BACK(mark_seen)(MARK_END, "warm-up");
	add_planned("alloc_pd after the phase", plan_call(VERB_alloc_pd));
	plan_open_device();
	add_planned("reg_mr again", plan_call(VERB_reg_mr));
}

static void write_out(void)
{
	assert(write(STDOUT_FILENO, out.at ?: "", out.used) == (ssize_t)out.used);
	text_fini(&out);
}

/* A copy of the process is another process for the rules, which count anew. */
static void plan_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		plan_open_device();
		add_planned("reg_mr of a child", plan_call(VERB_reg_mr));
		add_planned("reg_mr of its call_here", call_here(VERB_reg_mr));
		write_out();
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static void run_child(const char *path)
{
	plan_load(path);
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		if (plan_has(kind))
			text_addf(&out, "\tkind %d\n", kind);
	if (!plan_is_on())
		text_addf(&out, "\tno rule\n");
	write_out();
	plan_all();
	write_out();
	plan_child();
	_exit(0);
}

static void add_file(struct text *text, const char *rules)
{
	char path[] = "/tmp/verbatim-plan.XXXXXX";
	int fds[2], status, fd = mkstemp(path);
	char bytes[4096];
	ssize_t n;
	pid_t pid;

	text_addf(text, "%s\n", strlen(rules) > 200 ? rules + strlen(rules) - 80 : rules);
	assert_int_equal(write(fd, rules, strlen(rules)), strlen(rules));
	close(fd);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		run_child(path);
	}
	close(fds[1]);
	while ((n = read(fds[0], bytes, sizeof(bytes))) > 0)
		text_addf(text, "%.*s", (int)n, bytes);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	if (WIFSIGNALED(status))
		text_addf(text, "\tended by signal %d\n", WTERMSIG(status));
}

TEST(each_operation_gets_the_fault_of_its_rule)
{
	struct text text = { 0 };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		add_file(&text, files[i]);
	transcript_expect(__FILE__, &text);
}
