#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

static char mount_dir[] = "/tmp/verbatim-soft-limit.XXXXXX";
static bool mounted;

/* A file system of a few megabytes, in a mount namespace of our own. */
static int mount_setup(void **state)
{
	if (fabric_setup(state) || !mkdtemp(mount_dir))
		return -1;
	mounted = unshare(CLONE_NEWNS) == 0 &&
		  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		  mount("tmpfs", mount_dir, "tmpfs", 0, "size=6m,mode=0700") == 0;
	return 0;
}

static int mount_teardown(void **state)
{
	if (mounted && umount(mount_dir))
		return -1;
	return rmdir(mount_dir) || fabric_teardown(state);
}

static int small_setup(void **state)
{
	(void)state;
	return setenv("VERBATIM_SOFT_FABRIC", mount_dir, 1);
}

static int small_teardown(void **state)
{
	(void)state;
	return setenv("VERBATIM_SOFT_FABRIC", fabric_dir, 1);
}

static void need_mount(void)
{
	if (!mounted)
		skip();
}

/* All that is left, to the last page. */
static void fill_up(void)
{
	static char page[4096];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/filler", mount_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void make_room(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/filler", mount_dir);
	assert_int_equal(unlink(path), 0);
}

static struct ibv_context *try_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	int err = errno;

	ibv_free_device_list(list);
	errno = err;
	return context;
}

GROUP(mount_setup, mount_teardown);

TEST_WITH(opening_without_memory_is_enomem, small_setup, small_teardown)
{
	struct ibv_context *context;

	need_mount();
	fill_up();
	assert_null(try_open());
	assert_int_equal(errno, ENOMEM);
	make_room();
	context = try_open();
	assert_non_null(context);
	assert_int_equal(ibv_close_device(context), 0);
}

enum { MANY = 4096 };

TEST_WITH(objects_without_memory_are_enomem, small_setup, small_teardown)
{
	static struct ibv_cq *cqs[MANY];
	struct end e = { 0 };
	int i, round, n = 0;

	need_mount();
	end_open(&e);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++) {
			cqs[i] = ibv_create_cq(e.context, 1000, NULL, NULL, 0);
			if (!cqs[i])
				break;
		}
		assert_int_equal(errno, ENOMEM);
		assert_true(i > 4 && i < MANY);
		/* nothing was lost, but for a page of the table of queues */
		assert_true(i >= n - 1);
		n = i;
		while (i)
			assert_int_equal(ibv_destroy_cq(cqs[--i]), 0);
	}
	end_close(&e);
}

TEST_WITH(resize_without_memory_is_enomem, small_setup, small_teardown)
{
	struct end e = { 0 };

	need_mount();
	end_open(&e);
	assert_int_equal(ibv_resize_cq(e.cq, 100000), ENOMEM);
	assert_int_equal(ibv_resize_cq(e.cq, 100), 0);
	end_close(&e);
}

static void resize_mount(const char *options)
{
	assert_int_equal(mount("tmpfs", mount_dir, "tmpfs", MS_REMOUNT, options), 0);
}

enum { LONG_CQE = 40000, DEEP = 32768 };

static struct ibv_qp *make_sender(struct end *e, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { DEEP, 0, 1, 0, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	connect_to(qp, qp->qp_num);
	return qp;
}

static void send_all(struct ibv_qp *qp)
{
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	int i;

	for (i = 0; i < DEEP; i++)
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* A long queue gets its memory as it is used: if none is left it overruns before its length. */
TEST_WITH(long_queue_without_memory_overruns, small_setup, small_teardown)
{
	struct ibv_async_event event;
	struct end e = { 0 };
	struct ibv_qp *qp[2];
	struct ibv_cq *cq;
	struct ibv_wc wc;
	int i;

	need_mount();
	end_open(&e);
	assert_null(ibv_create_cq(e.context, LONG_CQE, NULL, NULL, 0));
	assert_int_equal(errno, ENOMEM);
	resize_mount("size=32m");
	cq = ibv_create_cq(e.context, LONG_CQE, NULL, NULL, 0);
	assert_non_null(cq);
	for (i = 0; i < 2; i++)
		qp[i] = make_sender(&e, cq);
	fill_up();
	send_all(qp[0]);
	send_all(qp[1]);
	assert_int_equal(ibv_get_async_event(e.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	ibv_ack_async_event(&event);
	for (i = 0; ibv_poll_cq(cq, 1, &wc) == 1; i++)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(i >= DEEP - 1 && i < LONG_CQE);
	make_room();
	for (i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	end_close(&e);
	resize_mount("size=6m");
}

static void receive_messages(struct end *e, int fd, struct address yours)
{
	char word;

	(void)yours;
	while (read(fd, &word, 1) == 1) {
		assert_int_equal(recv_at(e, 1, 0, END_BYTES), 0);
		say_bytes(fd, "r", 1);
		expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	}
}

TEST_WITH(traffic_goes_on_without_memory, small_setup, small_teardown)
{
	static const uint32_t lens[] = { 1, 72, 73, 1000, 8192, 8193, END_BYTES };
	struct fellow f = fellow_start(receive_messages);
	struct end e = { 0 };
	size_t i;

	need_mount();
	end_open(&e);
	fellow_meet(&f, &e);
	fill_up();
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		say_bytes(f.fd, "r", 1);
		await_word(f.fd);
		assert_int_equal(send_at(&e, 2, 0, lens[i]), 0);
		expect_wc(e.cq, 2, IBV_WC_SUCCESS);
	}
	/* a key that never was: its place must not be touched */
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 3, 8, f.address.addr, 0xabcdef01), 0);
	expect_wc(e.cq, 3, IBV_WC_REM_ACCESS_ERR);
	make_room();
	assert_int_equal(fellow_stop(&f), 0);
	end_close(&e);
}

/* In a child: limits cannot be raised again. Its exit status is its answer. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	return status;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized;
#endif

static int open_limited(int resource, rlim_t to, int error)
{
	struct rlimit limit = { to, to };

	setrlimit(resource, &limit);
	return try_open() || errno != error;
}

static int open_without_address_space(void)
{
	return open_limited(RLIMIT_AS, 4ull << 30, ENOMEM);
}

static int open_with_small_files(void)
{
	return open_limited(RLIMIT_FSIZE, 1 << 20, EFBIG);
}

static int open_without_descriptors(void)
{
	return open_limited(RLIMIT_NOFILE, 3, EMFILE);
}

TEST(limits_of_the_process_are_errors)
{
	if (!sanitized) /* a sanitizer itself needs terabytes */
		assert_int_equal(in_child(open_without_address_space), 0);
	assert_int_equal(in_child(open_with_small_files), 0);
	assert_int_equal(in_child(open_without_descriptors), 0);
}

static void use_all_descriptors(void)
{
	struct rlimit limit = { 64, 64 };

	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
}

/* No descriptor is left, so it cannot open our pipe, nor check us. */
static void send_without_descriptors(struct end *e, int fd, struct address yours)
{
	int null = open("/dev/null", O_RDONLY);

	assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, 1, 8, yours.addr, yours.rkey), 0);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS); /* has found us */
	use_all_descriptors();
	await_word(fd);
	usleep(20000); /* it checks once a tick whether we are alive */
	assert_null(ibv_create_comp_channel(e->context));
	assert_int_equal(errno, EMFILE);
	assert_int_equal(send_at(e, 1, 0, 8), 0);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	say_bytes(fd, "s", 1);
	await_word(fd);
	close(null);
	await_word(fd);
}

TEST(events_wait_for_a_descriptor)
{
	struct fellow f = fellow_start(send_without_descriptors);
	struct pollfd p = { .events = POLLIN };
	struct end e = { 0 };
	struct ibv_cq *cq;
	void *context;

	end_open(&e);
	p.fd = e.channel->fd;
	fellow_meet(&f, &e);
	assert_int_equal(recv_at(&e, 3, 0, 8), 0);
	assert_int_equal(ibv_req_notify_cq(e.cq, 0), 0);
	say_bytes(f.fd, "g", 1);
	await_word(f.fd);
	assert_int_equal(poll(&p, 1, 0), 0);
	say_bytes(f.fd, "c", 1);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(ibv_get_cq_event(e.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(fellow_stop(&f), 0);
	end_close(&e);
}

/* Each of many queues has its event, though the pipe holds fewer. */
TEST(events_wait_for_room_in_the_pipe)
{
	enum { QUEUES = 5000 };
	static struct ibv_cq *cqs[QUEUES];
	struct end e = { 0 };
	struct ibv_cq *cq;
	void *context;
	int i;

	end_open(&e);
	for (i = 0; i < QUEUES; i++) {
		struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
		struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
		struct ibv_qp *qp;

		cqs[i] = ibv_create_cq(e.context, 1, NULL, e.channel, 0);
		assert_non_null(cqs[i]);
		attr.send_cq = attr.recv_cq = cqs[i];
		qp = ibv_create_qp(e.pd, &attr);
		assert_non_null(qp);
		assert_int_equal(ibv_req_notify_cq(cqs[i], 0), 0);
		assert_int_equal(to_init(qp, 0), 0);
		assert_int_equal(to_state(qp, IBV_QPS_ERR), 0);
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
		cqs[i]->cq_context = qp;
	}
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(ibv_get_cq_event(e.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_destroy_qp(context), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
	end_close(&e);
}

TEST(too_many_queue_pairs_are_enomem)
{
	static struct ibv_qp *qps[20000];
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct end e = { 0 };
	int i;

	end_open(&e);
	attr.send_cq = attr.recv_cq = e.cq;
	for (i = 0; (qps[i] = ibv_create_qp(e.pd, &attr)); i++)
		;
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_qp(qps[5]), 0);
	qps[5] = ibv_create_qp(e.pd, &attr);
	assert_non_null(qps[5]);
	while (i)
		assert_int_equal(ibv_destroy_qp(qps[--i]), 0);
	end_close(&e);
}
