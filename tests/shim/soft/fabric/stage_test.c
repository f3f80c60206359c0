#define TEST_MAIN /* its tests run more than once */
#include <errno.h>
#include <sched.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/registry.h"
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

struct given {
	struct end e;
	struct fellow f;
};

/* The peer sleeps and calls no verb until this process has finished. */
static void sleep_on(struct end *e, int fd, struct address yours)
{
	(void)e;
	(void)yours;
	await_word(fd);
}

static int begin_pair(void **state, fellow_fn *fn)
{
	struct fellow f = fellow_start(fn); /* a program that inherits nothing */
	struct given *g = calloc(1, sizeof(*g));

	g->f = f;
	end_open(&g->e);
	fellow_meet(&g->f, &g->e);
	*state = g;
	return 0;
}

static int set_up(void **state)
{
	return begin_pair(state, sleep_on);
}

static int tear_down(void **state)
{
	struct given *g = *state;
	int status = fellow_stop(&g->f);

	end_close(&g->e);
	free(g);
	return status;
}

static void fill_memory(struct end *e, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < END_BYTES; i++)
		e->buf[i] = i * 31 + (i >> 8) + seed;
}

static int post_rdma(struct given *g, enum ibv_wr_opcode opcode, uint32_t len)
{
	return rdma_at(&g->e, opcode, opcode, len, g->f.address.addr, g->f.address.rkey);
}

static void writes_and_reads_need_no_call_of_the_target(void **state)
{
	static uint8_t sent[END_BYTES];
	struct given *g = *state;

	fill_memory(&g->e, 7);
	memcpy(sent, g->e.buf, END_BYTES);
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_WRITE, END_BYTES), 0);
	expect_wc(g->e.cq, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
	memset(g->e.buf, 0, END_BYTES);
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_READ, END_BYTES), 0);
	expect_wc(g->e.cq, IBV_WR_RDMA_READ, IBV_WC_SUCCESS);
	assert_memory_equal(g->e.buf, sent, END_BYTES);
}

static uint64_t fetch_add(struct given *g, uint64_t n)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t old;

	wr.wr.atomic.remote_addr = g->f.address.addr;
	wr.wr.atomic.rkey = g->f.address.rkey;
	wr.wr.atomic.compare_add = n;
	assert_int_equal(send_wr(&g->e, wr, sge_of(&g->e, 0, 8)), 0);
	expect_wc(g->e.cq, 1, IBV_WC_SUCCESS);
	memcpy(&old, g->e.buf, 8);
	return old;
}

static void atomics_change_and_tell(void **state)
{
	struct given *g = *state;

	assert_int_equal(fetch_add(g, 5), 0);
	assert_int_equal(fetch_add(g, 6), 5);
	assert_int_equal(fetch_add(g, 0), 11);
}

static void receive_all(struct end *e, int fd, struct address yours)
{
	uint32_t i;

	(void)yours;
	assert_int_equal(recv_at(e, 1, 0, END_BYTES), 0);
	say_bytes(fd, "r", 1);
	assert_int_equal(expect_wc(e->cq, 1, IBV_WC_SUCCESS).byte_len, END_BYTES);
	for (i = 0; i < END_BYTES; i++)
		assert_int_equal(e->buf[i], (uint8_t)(i * 31 + (i >> 8) + 9));
	await_word(fd);
}

static void long_send_arrives(void **state)
{
	begin_pair(state, receive_all);
	struct given *g = *state;

	fill_memory(&g->e, 9);
	await_word(g->f.fd);
	assert_int_equal(send_at(&g->e, 2, 0, END_BYTES), 0);
	expect_wc(g->e.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(tear_down(state), 0);
}

/* Send half a megabyte again and again, like the other side. */
static void write_often(struct end *e, struct address there)
{
	int i;

	for (i = 0; i < 50; i++) {
		assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, i, END_BYTES / 2,
					 there.addr + END_BYTES / 2, there.rkey),
				 0);
		expect_wc(e->cq, i, IBV_WC_SUCCESS);
	}
}

static void write_back(struct end *e, int fd, struct address yours)
{
	write_often(e, yours);
	await_word(fd);
}

static void both_sides_copy_at_once(void **state)
{
	begin_pair(state, write_back);
	struct given *g = *state;

	write_often(&g->e, g->f.address);
	say_bytes(g->f.fd, "q", 1);
	assert_int_equal(tear_down(state), 0);
}

static void stopped_target_goes_on(void **state)
{
	struct given *g = *state;

	kill(g->f.pid, SIGSTOP);
	waitpid(g->f.pid, NULL, WUNTRACED);
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_WRITE, 100), 0);
	expect_none(g->e.cq);
	kill(g->f.pid, SIGCONT);
	expect_wc(g->e.cq, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* Used while it is stopped, then killed: ends within the timeout. */
static void dead_target_ends_it(void **state)
{
	struct given *g = *state;

	kill(g->f.pid, SIGSTOP);
	waitpid(g->f.pid, NULL, WUNTRACED);
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_WRITE, END_BYTES), 0);
	fellow_kill(&g->f);
	expect_wc(g->e.cq, IBV_WR_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
}

static void unmap_and_sleep(struct end *e, int fd, struct address yours)
{
	(void)yours;
	munmap(e->buf, END_BYTES);
	say_bytes(fd, "u", 1);
	await_word(fd);
}

static void unmapped_memory_is_an_error_there(void **state)
{
	begin_pair(state, unmap_and_sleep);
	struct given *g = *state;

	await_word(g->f.fd);
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_WRITE, 100), 0);
	expect_wc(g->e.cq, IBV_WR_RDMA_WRITE, IBV_WC_REM_OP_ERR);
	assert_int_equal(tear_down(state), 0);
}

static struct shm_seg *segment_of(struct given *g, struct peer **peer)
{
	uint32_t index;

	assert_int_equal(registry_find_qp(g->f.address.qpn, peer, &index), 0);
	return (*peer)->seg;
}

static int32_t forge_job(struct shm_seg *seg, uint64_t addr, uint64_t len)
{
	struct shm_job *job = &seg->job[0];

	job->write = 1;
	job->count = 1;
	job->iov[0] = (struct iovec){ (void *)addr, len };
	__atomic_store_n(&job->state, SHM_JOB_ASKED, __ATOMIC_SEQ_CST);
	__atomic_store_n(&seg->stage.asked, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &seg->stage.asked, 1, 1, NULL, NULL, 0);
	while (__atomic_load_n(&job->state, __ATOMIC_SEQ_CST) != SHM_JOB_DONE)
		sched_yield();
	return job->result;
}

static void owner_copies_to_registered_memory_only(void **state)
{
	struct given *g = *state;
	struct peer *peer;
	struct shm_seg *seg = segment_of(g, &peer);
	uint64_t addr = g->f.address.addr;

	assert_int_equal(forge_job(seg, addr, 100), 0);
	assert_int_equal(forge_job(seg, addr - 1, 100), -EFAULT);
	assert_int_equal(forge_job(seg, addr + END_BYTES - 99, 100), -EFAULT);
	assert_int_equal(forge_job(seg, addr, SHM_JOB_BYTES + 1), -EFAULT);
	assert_int_equal(forge_job(seg, addr, UINT64_MAX), -EFAULT);
	assert_int_equal(forge_job(seg, (uintptr_t)&forge_job, 100), -EFAULT);
	registry_put_peer(peer);
}

/* A killed process holds all jobs, and one is requested. */
static void dead_requesters_are_no_obstacle(void **state)
{
	struct given *g = *state;
	struct peer *peer;
	struct shm_seg *seg = segment_of(g, &peer);
	int i;

	for (i = 0; i < SHM_JOBS; i++) {
		seg->job[i].lock.owner = 1000;
		seg->job[i].state = SHM_JOB_ASKED;
		seg->job[i].count = SHM_SGE_MAX + 1;
	}
	assert_int_equal(post_rdma(g, IBV_WR_RDMA_WRITE, 100), 0);
	expect_wc(g->e.cq, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
	registry_put_peer(peer);
}

/* No process_vm, as in a container that allows no ptrace. */
static int forbid_vm(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* process_vm is forbidden to one side late, in the middle of a connection. */
static void forbidden_later(struct end *e, int fd, struct address yours)
{
	assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, 1, 100, yours.addr, yours.rkey), 0);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(forbid_vm(), 0);
	assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, 2, END_BYTES, yours.addr, yours.rkey), 0);
	expect_wc(e->cq, 2, IBV_WC_SUCCESS);
	say_bytes(fd, "d", 1);
}

static void target_that_polls_learns_of_it(void **state)
{
	char word;

	begin_pair(state, forbidden_later);
	struct given *g = *state;

	while (recv(g->f.fd, &word, 1, MSG_DONTWAIT) < 0)
		expect_none(g->e.cq);
	assert_int_equal(tear_down(state), 0);
}

#define WITH_FELLOW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* clang-format off */
static const struct CMUnitTest tests[] = {
	WITH_FELLOW(writes_and_reads_need_no_call_of_the_target),
	WITH_FELLOW(atomics_change_and_tell),
	cmocka_unit_test(long_send_arrives),
	cmocka_unit_test(both_sides_copy_at_once),
	WITH_FELLOW(stopped_target_goes_on),
	WITH_FELLOW(dead_target_ends_it),
	cmocka_unit_test(unmapped_memory_is_an_error_there),
	WITH_FELLOW(owner_copies_to_registered_memory_only),
	WITH_FELLOW(dead_requesters_are_no_obstacle),
};
/* clang-format on */

static const struct CMUnitTest late[] = {
	cmocka_unit_test(target_that_polls_learns_of_it),
};

static int run_group(const char *name, const struct CMUnitTest *group, size_t num)
{
	strcpy(strrchr(fabric_dir, '.'), ".XXXXXX");
	return _cmocka_run_group_tests(name, group, num, fabric_setup, fabric_teardown);
}

#define RUN(name, group) run_group(name, group, sizeof(group) / sizeof(group[0]))

int main(void)
{
	int failed = RUN("late", late);

	setenv("VERBATIM_SOFT_VM", "off", 1);
	failed += RUN("knob", tests);
	unsetenv("VERBATIM_SOFT_VM");
	if (forbid_vm())
		return 1;
	return failed + RUN("seccomp", tests);
}
