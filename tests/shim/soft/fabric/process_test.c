#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shim/soft/fabric/process.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* The other process, which receives commands as letters. */
struct other {
	pid_t pid;
	int fd;
	struct address address;
};

static void put_bytes(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), len);
}

static void get_bytes(int fd, void *data, size_t len)
{
	assert_int_equal(read(fd, data, len), len);
}

static void obey_command(struct end *e, char command)
{
	struct ibv_wc wc;

	switch (command) {
	case 'r': /* post a receive */
		assert_int_equal(recv_at(e, 1, 0, END_BYTES), 0);
		break;
	case 'p': /* poll it */
		wc = poll_one(e->cq);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		break;
	case 'e': /* poll it, it fails */
		wc = poll_one(e->cq);
		assert_true(wc.status != IBV_WC_SUCCESS);
		break;
	case 's': /* send */
		assert_int_equal(send_at(e, 2, 0, 64), 0);
		break;
	}
}

/* After each command, it reports the first and the last byte of the buffer. */
static void serve_commands(int fd)
{
	struct end e = { 0 };
	struct address mine, yours;
	char command;

	end_open(&e);
	mine = end_address(&e);
	put_bytes(fd, &mine, sizeof(mine));
	get_bytes(fd, &yours, sizeof(yours));
	connect_to(e.qp, yours.qpn);
	put_bytes(fd, "k", 1);
	while (read(fd, &command, 1) == 1 && command != 'q') {
		obey_command(&e, command);
		put_bytes(fd, e.buf, 4096);
	}
	end_close(&e);
	exit(0);
}

static struct other start_other(void)
{
	struct other other;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	other.pid = fork();
	if (!other.pid) {
		close(fds[0]);
		serve_commands(fds[1]);
	}
	close(fds[1]);
	other.fd = fds[0];
	return other;
}

static void connect_other(struct other *other, struct end *e)
{
	struct address mine = end_address(e);
	char done;

	get_bytes(other->fd, &other->address, sizeof(other->address));
	put_bytes(other->fd, &mine, sizeof(mine));
	connect_to(e->qp, other->address.qpn);
	get_bytes(other->fd, &done, 1);
}

static void tell_other(struct other *other, char command, uint8_t *seen)
{
	size_t n = 0;

	put_bytes(other->fd, &command, 1);
	while (n < 4096)
		n += read(other->fd, seen + n, 4096 - n);
}

static int stop_other(struct other *other)
{
	int status;

	put_bytes(other->fd, "q", 1);
	waitpid(other->pid, &status, 0);
	close(other->fd);
	return status;
}

struct two {
	struct end e;
	struct other other;
	uint8_t seen[4096];
};

static int set_up(void **state)
{
	struct two *t = calloc(1, sizeof(*t));

	t->other = start_other();
	end_open(&t->e);
	connect_other(&t->other, &t->e);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct two *t = *state;

	if (t->other.pid)
		assert_int_equal(stop_other(&t->other), 0);
	end_close(&t->e);
	free(t);
	return 0;
}

/* In the entry, in the ring of bytes, and by a direct copy. */
static void send_of(struct two *t, uint32_t len)
{
	tell_other(&t->other, 'r', t->seen);
	memset(t->e.buf, len & 0x7f, len);
	assert_int_equal(send_at(&t->e, 1, 0, len), 0);
	expect_wc(t->e.cq, 1, IBV_WC_SUCCESS);
	tell_other(&t->other, 'p', t->seen);
	assert_memory_equal(t->seen, t->e.buf, len < 4096 ? len : 4096);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(messages_of_all_lengths_arrive)
{
	struct two *t = *state;
	static const uint32_t lens[] = { 1,    8,    9,    72,   73,    1000,
					 4096, 8191, 8192, 8193, 65536, END_BYTES };
	size_t i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		send_of(t, lens[i]);
}

TEST(many_messages_wrap_all_rings)
{
	struct two *t = *state;
	uint32_t i;

	for (i = 0; i < 300; i++)
		send_of(t, 1000 + i * 7);
}

TEST(writes_and_reads_cross_processes)
{
	struct two *t = *state;
	struct address *there = &t->other.address;

	memset(t->e.buf, 'w', 4096);
	assert_int_equal(rdma_at(&t->e, IBV_WR_RDMA_WRITE, 1, 4096, there->addr, there->rkey), 0);
	expect_wc(t->e.cq, 1, IBV_WC_SUCCESS);
	tell_other(&t->other, 'n', t->seen);
	assert_memory_equal(t->seen, t->e.buf, 4096);
	memset(t->e.buf, 0, 4096);
	assert_int_equal(rdma_at(&t->e, IBV_WR_RDMA_READ, 2, 4096, there->addr, there->rkey), 0);
	expect_wc(t->e.cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(t->seen, t->e.buf, 4096);
}

TEST(messages_come_back)
{
	struct two *t = *state;

	assert_int_equal(recv_at(&t->e, 3, 0, 64), 0);
	tell_other(&t->other, 's', t->seen);
	assert_int_equal(expect_wc(t->e.cq, 3, IBV_WC_SUCCESS).byte_len, 64);
}

TEST(sleeper_is_woken_across_processes)
{
	struct two *t = *state;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(recv_at(&t->e, 3, 0, 64), 0);
	assert_int_equal(ibv_req_notify_cq(t->e.cq, 0), 0);
	tell_other(&t->other, 's', t->seen);
	assert_int_equal(ibv_get_cq_event(t->e.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	expect_wc(t->e.cq, 3, IBV_WC_SUCCESS);
}

TEST(errors_appear_on_both_sides)
{
	struct two *t = *state;
	struct address *there = &t->other.address;

	tell_other(&t->other, 'r', t->seen);
	assert_int_equal(rdma_at(&t->e, IBV_WR_RDMA_WRITE, 1, 64, there->addr, there->rkey + 2), 0);
	expect_wc(t->e.cq, 1, IBV_WC_REM_ACCESS_ERR);
	tell_other(&t->other, 'e', t->seen); /* its receive was flushed */
}

/* The payload arrived before, so it is in memory although it was not polled. */
TEST(payload_is_there_when_its_region_goes)
{
	struct two *t = *state;
	struct address *there = &t->other.address;

	memset(t->e.buf, 'x', 64);
	assert_int_equal(rdma_at(&t->e, IBV_WR_RDMA_WRITE, 1, 64, there->addr, there->rkey), 0);
	expect_wc(t->e.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&t->e, 3, 4096, 64), 0);
	tell_other(&t->other, 's', t->seen);
	assert_int_equal(ibv_dereg_mr(t->e.mr), 0);
	t->e.mr = NULL;
	assert_memory_equal(t->e.buf + 4096, t->e.buf, 64);
	expect_wc(t->e.cq, 3, IBV_WC_SUCCESS);
	assert_memory_equal(t->e.buf + 4096, t->e.buf, 64);
}

static void kill_other(struct two *t)
{
	kill(t->other.pid, SIGKILL);
	waitpid(t->other.pid, NULL, 0);
	close(t->other.fd);
	t->other.pid = 0;
}

TEST(dead_peer_is_found_out)
{
	struct two *t = *state;

	tell_other(&t->other, 'r', t->seen);
	tell_other(&t->other, 'r', t->seen);
	send_of(t, 8);
	kill_other(t);
	usleep(10000); /* a tick of the coarse clock; it is not a race */
	assert_int_equal(send_at(&t->e, 1, 0, 8), 0);
	expect_wc(t->e.cq, 1, IBV_WC_RETRY_EXC_ERR);
}

static unsigned int count_files(void)
{
	DIR *dir = opendir(fabric_dir);
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

TEST(traces_of_the_dead_are_swept)
{
	struct two *t = *state;
	unsigned int before = count_files();

	kill_other(t);
	assert_int_equal(count_files(), before);
	/* the next process that joins or leaves sweeps */
	t->other = start_other();
	get_bytes(t->other.fd, &t->other.address, sizeof(t->other.address));
	assert_int_equal(count_files(), before);
	kill_other(t);
}

static int in_child(struct end *e)
{
	struct ibv_async_event event;
	struct end own = { 0 };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (ibv_poll_cq(e->cq, 1, &wc) >= 0 || send_at(e, 1, 0, 1) != EIO ||
	    recv_at(e, 1, 0, 1) != EIO || ibv_req_notify_cq(e->cq, 0) != EIO ||
	    ibv_destroy_qp(e->qp) != EIO || ibv_dereg_mr(e->mr) != EIO ||
	    ibv_destroy_cq(e->cq) != EIO || ibv_dealloc_pd(e->pd) != EIO ||
	    ibv_get_cq_event(e->channel, &cq, &context) != -1 ||
	    ibv_get_async_event(e->context, &event) != -1 || ibv_close_device(e->context) != EIO ||
	    ibv_alloc_pd(e->context))
		return 1;
	end_open(&own); /* asserts */
	connect_to(own.qp, own.qp->qp_num);
	recv_at(&own, 1, 0, 8);
	send_at(&own, 2, 0, 8);
	poll_one(own.cq);
	poll_one(own.cq);
	/* inherited objects stay dead beside new ones */
	if (ibv_poll_cq(e->cq, 1, &wc) >= 0)
		return 2;
	if (process_pid() != getpid())
		return 3;
	end_close(&own);
	return 0;
}

TEST(child_begins_anew)
{
	struct two *t = *state;
	int status;
	pid_t pid;

	assert_int_equal(process_pid(), getpid());
	pid = fork();
	if (!pid)
		_exit(in_child(&t->e));
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	send_of(t, 100); /* the parent is unharmed */
	send_of(t, 100000);
}

TEST(child_that_just_exits_harms_nobody)
{
	struct two *t = *state;
	pid_t pid = fork();

	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
	send_of(t, 100);
}

TEST_WITH(exit_without_close_leaves_nothing, NULL, NULL)
{
	unsigned int before = count_files();
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct end e = { 0 };

		end_open(&e);
		exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(count_files(), before);
}

static int open_with(const char *dir)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	int err = 0;

	setenv("VERBATIM_SOFT_FABRIC", dir, 1);
	errno = 0;
	context = ibv_open_device(list[0]);
	if (!context)
		err = errno;
	else
		ibv_close_device(context);
	ibv_free_device_list(list);
	setenv("VERBATIM_SOFT_FABRIC", fabric_dir, 1);
	return err;
}

TEST_WITH(directory_open_to_others_is_refused, NULL, NULL)
{
	char open_dir[] = "/dev/shm/verbatim-soft-test.XXXXXX";
	char link[64];

	assert_non_null(mkdtemp(open_dir));
	snprintf(link, sizeof(link), "%s.link", open_dir);
	assert_int_equal(symlink(open_dir, link), 0);
	assert_int_equal(open_with(open_dir), 0);
	assert_int_equal(open_with(link), EPERM);
	chmod(open_dir, 0755);
	assert_int_equal(open_with(open_dir), EPERM);
	unlink(link);
	assert_int_equal(rmdir(open_dir), 0);
}

TEST_WITH(directory_that_was_made_is_taken_away, NULL, NULL)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/made", fabric_dir);
	assert_int_equal(open_with(dir), 0);
	assert_int_equal(access(dir, F_OK), -1);
}
