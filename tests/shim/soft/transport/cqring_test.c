#include <dirent.h>
#include <sys/stat.h>

#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/objects.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* Two queue pairs, each connected to itself, which can fill half of a long queue each. */
enum { HALF = 32768, CQE = 2 * HALF + 1000 };

struct long_queue {
	struct end e;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

static struct ibv_qp *make_sender(struct long_queue *l)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = l->cq,
		.recv_cq = l->e.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { HALF, 0, 1, 0, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(l->e.pd, &attr);

	assert_non_null(qp);
	connect_to(qp, qp->qp_num);
	return qp;
}

static int set_up(void **state)
{
	struct long_queue *l = calloc(1, sizeof(*l));

	end_open(&l->e);
	l->cq = ibv_create_cq(l->e.context, CQE, NULL, NULL, 0);
	assert_non_null(l->cq);
	l->qp[0] = make_sender(l);
	l->qp[1] = make_sender(l);
	*state = l;
	return 0;
}

static int tear_down(void **state)
{
	struct long_queue *l = *state;

	assert_int_equal(ibv_destroy_qp(l->qp[0]), 0);
	assert_int_equal(ibv_destroy_qp(l->qp[1]), 0);
	assert_int_equal(ibv_destroy_cq(l->cq), 0);
	end_close(&l->e);
	free(l);
	return 0;
}

static void write_some(struct ibv_qp *qp, uint64_t first, int n)
{
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };

	for (wr.wr_id = first; n--; wr.wr_id++)
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

static void expect_some(struct ibv_cq *cq, uint64_t first, int n)
{
	struct ibv_wc wc;

	for (; n--; first++) {
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, first);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
}

static void fill_queue(struct long_queue *l)
{
	write_some(l->qp[0], 0, HALF);
	write_some(l->qp[1], HALF, HALF);
}

static void empty_queue(struct long_queue *l)
{
	expect_some(l->cq, 0, 2 * HALF);
	expect_none(l->cq);
}

/* The space that the files of the fabric take. */
static uint64_t fabric_bytes(void)
{
	DIR *dir = opendir(fabric_dir);
	uint64_t blocks = 0;
	struct dirent *d;
	struct stat st;

	assert_non_null(dir);
	while ((d = readdir(dir)))
		if (!fstatat(dirfd(dir), d->d_name, &st, 0) && S_ISREG(st.st_mode))
			blocks += st.st_blocks;
	closedir(dir);
	return blocks * 512;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(longest_queue_takes_little_memory)
{
	struct long_queue *l = *state;
	uint64_t before = fabric_bytes();
	struct ibv_device_attr limits;
	struct ibv_cq *cq;

	assert_int_equal(ibv_query_device(l->e.context, &limits), 0);
	cq = ibv_create_cq(l->e.context, limits.max_cqe, NULL, NULL, 0);
	assert_non_null(cq);
	assert_true(fabric_bytes() - before < 8 << 20);
	assert_int_equal(ibv_resize_cq(cq, limits.max_cqe - 1), 0);
	assert_true(fabric_bytes() - before < 8 << 20);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* More than twice around. */
TEST(long_queue_grows_in_order)
{
	struct long_queue *l = *state;
	int round;

	for (round = 0; round < 5; round++) {
		fill_queue(l);
		empty_queue(l);
	}
}

TEST(grows_after_a_resize)
{
	struct long_queue *l = *state;

	/* the entries do not begin where the ring does, and go around its end */
	write_some(l->qp[0], 0, HALF);
	expect_some(l->cq, 0, HALF);
	fill_queue(l);
	assert_int_equal(ibv_resize_cq(l->cq, 3 * HALF), 0);
	expect_some(l->cq, 0, HALF);
	write_some(l->qp[0], 2 * HALF, HALF);
	expect_some(l->cq, HALF, 2 * HALF);
	fill_queue(l);
	assert_int_equal(ibv_resize_cq(l->cq, 2 * HALF), 0);
	empty_queue(l);
	fill_queue(l);
	empty_queue(l);
}

static struct cqring *ring_of(struct ibv_cq *cq)
{
	return &((struct soft_cq *)cq)->ring;
}

/* Short messages lie in a ring of bytes until they are polled: many times around it. */
TEST(polled_messages_leave_room_for_others)
{
	struct long_queue *l = *state;
	struct cqring *ring = ring_of(l->cq);
	struct shm_cqe cqe;

	for (uint32_t used = 0; used < 4 * SHM_BOUNCE; used += 5000) {
		assert_non_null(cqring_bounce(ring, &cqe, 5000));
		ring->shm->bounce_cons = ring->shm->bounce_prod;
	}
}

TEST(messages_that_are_not_polled_fill_the_ring)
{
	struct long_queue *l = *state;
	struct cqring *ring = ring_of(l->cq);
	struct shm_cqe cqe;

	for (uint32_t used = 0; used < SHM_BOUNCE; used += SHM_BOUNCE / 32)
		assert_non_null(cqring_bounce(ring, &cqe, SHM_BOUNCE / 32));
	assert_null(cqring_bounce(ring, &cqe, 1));
	ring->shm->bounce_cons += SHM_LINE;
	assert_non_null(cqring_bounce(ring, &cqe, 1));
	assert_null(cqring_bounce(ring, &cqe, 1));
}

/* The thread that waits for it compares the number. */
TEST(a_call_is_counted)
{
	uint32_t calls = segment_own->payload_waits;

	cqring_wake_copy_thread(segment_own);
	assert_int_equal(segment_own->payload_waits, calls + 1);
}

/* What a peer may have written into its queue, and whether that is refused. */
TEST(a_damaged_queue_is_not_found)
{
	struct long_queue *l = *state;
	struct cqring *ring = ring_of(l->cq), found = { 0 };
	const struct shm_cq sound = *ring->shm;
	const struct {
		uint32_t serial, size;
		uint64_t ring_off, bounce_off;
		int err;
	} rows[] = {
		{ sound.serial, sound.size, sound.ring_off, sound.bounce_off, 0 },
		{ 0, sound.size, sound.ring_off, sound.bounce_off, -EPROTO },
		{ 1, 0, sound.ring_off, sound.bounce_off, -EPROTO },
		{ 1, 1, sound.ring_off, sound.bounce_off, 0 },
		{ 1, 3, sound.ring_off, sound.bounce_off, -EPROTO },
		{ 1, 2 * SHM_CQE_MAX, sound.ring_off, sound.bounce_off, 0 },
		{ 1, 4 * SHM_CQE_MAX, sound.ring_off, sound.bounce_off, -EPROTO },
		{ 1, 16, sound.ring_off + 8, sound.bounce_off, -EPROTO },
		{ 1, 16, sound.ring_off + SHM_LINE, sound.bounce_off, 0 },
		{ 1, 16, sound.ring_off, sound.bounce_off + 8, -EPROTO },
		{ 1, 16, SHM_SIZE, sound.bounce_off, -EPROTO },
		{ 1, 16, SHM_SIZE - 16 * sizeof(struct shm_cqe), sound.bounce_off, 0 },
		{ 1, 16, SHM_SIZE - 15 * sizeof(struct shm_cqe), sound.bounce_off, -EPROTO },
		{ 1, 16, sound.ring_off, SHM_SIZE - SHM_BOUNCE + SHM_LINE, -EPROTO },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ring->shm->serial = rows[i].serial;
		ring->shm->size = rows[i].size;
		ring->shm->ring_off = rows[i].ring_off;
		ring->shm->bounce_off = rows[i].bounce_off;
		assert_int_equal(cqring_find(ring->seg, ring->index, &found), rows[i].err);
		if (!rows[i].err)
			assert_int_equal(found.mask, rows[i].size - 1);
	}
	*ring->shm = sound;
	assert_int_equal(cqring_find(ring->seg, SHM_CQ_MAX, &found), -EPROTO);
	assert_int_equal(cqring_find(ring->seg, SHM_CQ_MAX - 1, &found), -EPROTO);
}

/* The queue is not left locked. */
TEST(a_queue_that_is_not_found_gets_nothing)
{
	struct long_queue *l = *state;
	struct cqring copy;

	cqring_copy(&copy, ring_of(l->cq));
	copy.shm->size = 3;
	assert_null(cqring_begin(&copy));
	assert_false(copy.stuck);
	assert_true(lock_try(&copy.shm->lock));
	lock_drop(&copy.shm->lock);
	copy.shm->size = ring_of(l->cq)->mask + 1;
	write_some(l->qp[0], 1, 1);
	expect_some(l->cq, 1, 1);
}
