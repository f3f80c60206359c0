/* replay/synth/synth_memory.c: ranges of keys, and the replay's memory for them. */
#include <errno.h>
#include <stdlib.h>

#include "replay/synth/synth_priv.h"
#include "tests/test.h"

enum { MB = 1 << 20, MOST = 16 };

static struct synth_host host;
static struct ibv_mr mrs[MOST];
static unsigned int nmrs, ndereg, nwindows;
static int access_of[MOST];
static uint64_t reg_fails; /* the length that cannot be registered */

static struct replay replay;
static struct synthesized far;
static struct synth_plan plan;
static struct synth_plan *plans[2] = { NULL, &plan };
static struct synth_end end;
static struct ibv_qp qp;
static struct ibv_context context;
static struct ibv_pd pd;
static struct ibv_mr buffer_mr, closed;
static struct ibv_mw windows[MOST];
static struct ibv_send_wr bound;
static int post_result;

static struct payload payload;
static int has_payload;

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *of, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *mr = &mrs[nmrs];

	assert_ptr_equal(of, &pd);
	assert_ptr_equal(addr, iova);
	if (length == reg_fails)
		return NULL;
	access_of[nmrs++] = (int)access;
	*mr = (struct ibv_mr){ .addr = addr, .length = length, .rkey = 1000 + nmrs };
	return mr;
}

/* What <infiniband/verbs.h> calls where access is not a constant. */
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *of, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(of, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	assert_in_range(mr - mrs, 0, MOST - 1);
	ndereg++;
	return 0;
}

int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	(void)trace;
	assert_int_equal(id.n, 77);
	assert_int_equal(i, 3);
	*ret_payload = payload;
	return has_payload;
}

static struct ibv_mw *alloc_window(struct ibv_pd *of, enum ibv_mw_type type)
{
	assert_ptr_equal(of, &pd);
	assert_int_equal(type, IBV_MW_TYPE_2);
	windows[nwindows] = (struct ibv_mw){ .context = &context, .rkey = 0x100 };
	return &windows[nwindows++];
}

static int dealloc_window(struct ibv_mw *mw)
{
	(void)mw;
	nwindows--;
	return 0;
}

static int post_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(of, &qp);
	bound = *wr;
	return post_result;
}

static int begin_host(void **state)
{
	(void)state;
	nmrs = ndereg = nwindows = 0;
	reg_fails = 0;
	post_result = has_payload = 0;
	context.ops = (struct ibv_context_ops){ .alloc_mw = alloc_window,
						.dealloc_mw = dealloc_window,
						.post_send = post_send };
	pd.context = qp.context = &context;
	buffer_mr = (struct ibv_mr){ .addr = &buffer_mr };
	closed = (struct ibv_mr){ .rkey = 0xdead };
	host = (struct synth_host){ .pd = &pd, .buffer_mr = &buffer_mr, .closed = &closed };
	end = (struct synth_end){ .host = &host, .qp = &qp };
	plan = (struct synth_plan){ .needed = true, .ends = &end };
	far = (struct synthesized){ .plans = plans };
	replay = (struct replay){ .far = &far, .nreplicas = 2 };
	return 0;
}

static int end_host(void **state)
{
	(void)state;
	synth_unmap(&host);
	map_fini(&far.failed);
	map_fini(&far.closes);
	map_fini(&far.reads);
	assert_int_equal(nwindows, 0);
	assert_int_equal(ndereg, nmrs);
	return 0;
}

FIXTURE(begin_host, end_host);

static void add_range(uint64_t start, uint64_t length)
{
	assert_int_equal(synth_add_range(&host, 7, start, length, IBV_ACCESS_REMOTE_READ), 0);
}

static void expect_range(size_t i, uint64_t start, uint64_t stop)
{
	assert_true(i < host.regions[0].nranges);
	assert_int_equal(host.regions[0].ranges[i].start, start);
	assert_int_equal(host.regions[0].ranges[i].end, stop);
}

TEST(ranges_that_are_near_are_one)
{
	(void)state;
	add_range(10 * MB, 100);
	add_range(10 * MB + 50, 10); /* within */
	expect_range(0, 10 * MB, 10 * MB + 100);
	add_range(10 * MB + 90, 20);
	expect_range(0, 10 * MB, 10 * MB + 110);
	add_range(10 * MB - 5, 10);
	expect_range(0, 10 * MB - 5, 10 * MB + 110);
	add_range(11 * MB + 110, 1); /* as far as may be */
	expect_range(0, 10 * MB - 5, 11 * MB + 111);
	add_range(9 * MB - 15, 10);
	expect_range(0, 9 * MB - 15, 11 * MB + 111);
	assert_int_equal(host.regions[0].nranges, 1);
	add_range(12 * MB + 112, 1);
	add_range(8 * MB - 20, 4); /* a byte more than that */
	assert_int_equal(host.regions[0].nranges, 3);
	expect_range(1, 12 * MB + 112, 12 * MB + 113);
	expect_range(2, 8 * MB - 20, 8 * MB - 16);
}

TEST(a_range_between_joins_those_beside_it)
{
	(void)state;
	add_range(10 * MB, 1);
	add_range(20 * MB, 1);
	add_range(12 * MB, 1);
	add_range(14 * MB, 1);
	assert_int_equal(host.regions[0].nranges, 4);
	add_range(13 * MB, 1);
	assert_int_equal(host.regions[0].nranges, 3);
	add_range(11 * MB, 1);
	assert_int_equal(host.regions[0].nranges, 2);
	expect_range(0, 10 * MB, 14 * MB + 1);
	expect_range(1, 20 * MB, 20 * MB + 1);
	assert_int_equal(synth_host_bytes(&host), 4 * MB + 2);
}

TEST(the_last_range_may_join_the_first)
{
	(void)state;
	add_range(20 * MB, 1);
	add_range(30 * MB, 1);
	add_range(10 * MB, 1);
	add_range(11 * MB, 9 * MB);
	assert_int_equal(host.regions[0].nranges, 2);
	add_range(20 * MB + 1, 10 * MB);
	assert_int_equal(host.regions[0].nranges, 1);
	expect_range(0, 10 * MB, 30 * MB + 1);
}

TEST(what_cannot_be_memory_is_ignored)
{
	(void)state;
	add_range(MB, 0);
	add_range(UINT64_MAX - 5, 10);
	assert_int_equal(host.nregions, 0);
	add_range(UINT64_MAX - 10, 10);
	assert_int_equal(host.nregions, 1);
}

TEST(a_key_has_the_access_of_all_its_uses)
{
	(void)state;
	add_range(MB, 1);
	synth_add_range(&host, 8, MB, 1, IBV_ACCESS_REMOTE_WRITE);
	synth_add_range(&host, 7, MB, 1, IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(host.nregions, 2);
	assert_int_equal(host.regions[0].rkey, 7);
	assert_int_equal(host.regions[0].access, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(host.regions[1].rkey, 8);
	assert_int_equal(host.regions[1].access, IBV_ACCESS_REMOTE_WRITE);
}

TEST(memory_is_counted_with_both_buffers)
{
	(void)state;
	host.longest = 4096;
	assert_int_equal(synth_host_bytes(&host), 8192);
	add_range(MB, 100);
	assert_int_equal(synth_host_bytes(&host), 8292);
	add_range(0, UINT64_MAX);
	assert_int_equal(synth_host_bytes(&host), UINT64_MAX);
}

static const struct wr wrs[2];
static const struct post post = { .object = 1, .nwr = 2, .wr = wrs };
static const struct trace_event event = { .kind = TRACE_POST, .id = { 1, 5 }, .post = &post };

static void expect_remote(uint32_t rkey, uint64_t addr, uint32_t here, uint64_t at)
{
	synth_remote_address(&replay, &event, 1, &addr, &rkey);
	assert_int_equal(rkey, here);
	assert_int_equal(addr, at);
}

TEST(a_recorded_address_is_translated_within_its_range)
{
	const struct synth_range *ranges;

	(void)state;
	add_range(10 * MB, 100);
	add_range(20 * MB, 200);
	assert_int_equal(synth_map_regions(&host), 0);
	assert_int_equal(nmrs, 2);
	assert_int_equal(access_of[1], IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(mrs[0].length, 100);
	assert_int_equal(mrs[1].length, 200);
	assert_int_equal(memory_size(host.memory), 2 * 4096); /* whole pages, and no more */
	ranges = host.regions[0].ranges;
	assert_ptr_equal(ranges[1].mr, &mrs[1]);
	expect_remote(7, 10 * MB, 1001, (uintptr_t)mrs[0].addr);
	expect_remote(7, 20 * MB + 199, 1002, (uintptr_t)mrs[1].addr + 199);
	expect_remote(7, 20 * MB, 1002, (uintptr_t)mrs[1].addr);
	expect_remote(7, 10 * MB + 100, 1001, (uintptr_t)mrs[0].addr + 100); /* beyond its end */
	expect_remote(7, 20 * MB + 200, 1001, (uintptr_t)mrs[0].addr + 10 * MB + 200);
	expect_remote(8, 10 * MB, 8, 10 * MB);
}

TEST(a_request_that_was_refused_gets_a_key_without_access)
{
	(void)state;
	add_range(10 * MB, 100);
	assert_int_equal(synth_map_regions(&host), 0);
	map_put(&far.failed, event_part_key(event.id, 1), IBV_WC_REM_OP_ERR);
	expect_remote(7, 10 * MB, 1001, (uintptr_t)mrs[0].addr);
	map_put(&far.failed, event_part_key(event.id, 1), IBV_WC_REM_ACCESS_ERR);
	expect_remote(7, 10 * MB, 0xdead, 10 * MB);
	plan.ends = NULL;
	expect_remote(7, 10 * MB, 7, 10 * MB);
}

TEST(memory_that_cannot_be_registered_is_an_error)
{
	(void)state;
	add_range(10 * MB, 100);
	add_range(20 * MB, 200);
	reg_fails = 200;
	errno = EPERM;
	assert_int_equal(synth_map_regions(&host), -EPERM);
}

TEST(a_message_that_invalidates_has_a_window_to_close)
{
	(void)state;
	assert_int_equal(synth_bind(&replay, &end, &event, 1), 0);
	assert_int_equal(bound.opcode, IBV_WR_BIND_MW);
	assert_ptr_equal(bound.bind_mw.mw, &windows[0]);
	assert_int_equal(bound.bind_mw.rkey, 0x101);
	assert_ptr_equal(bound.bind_mw.bind_info.mr, &buffer_mr);
	assert_int_equal(bound.bind_mw.bind_info.addr, (uintptr_t)buffer_mr.addr);
	assert_int_equal(bound.bind_mw.bind_info.length, 1);
	assert_int_equal(bound.bind_mw.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(synth_window_key(&replay, &event, 1), 0x101);
	assert_int_equal(synth_window_key(&replay, &event, 0), 0);
	replay.far = NULL;
	assert_int_equal(synth_window_key(&replay, &event, 1), 0);
}

TEST(a_window_that_cannot_be_bound_is_an_error)
{
	(void)state;
	post_result = EINVAL;
	assert_int_equal(synth_bind(&replay, &end, &event, 1), -EINVAL);
	assert_int_equal(synth_window_key(&replay, &event, 1), 0);
}

static char *memory_of_read(void)
{
	static struct synth_fetch fetch = { { 1, 77 }, 3 };

	add_range(10 * MB, 100);
	assert_int_equal(synth_map_regions(&host), 0);
	far.fetched = &fetch;
	map_put(&far.reads, event_part_key(event.id, 0), 1);
	payload = (struct payload){ .bytes = "abcdefgh", .nbytes = 8 };
	has_payload = 1;
	return mrs[0].addr;
}

static int fill_read(uint64_t addr, uint32_t length)
{
	const struct sge sges[2] = { { .length = length - 1 }, { .length = 1 } };
	const struct wr wr = { .rkey = 7, .remote_addr = addr, .nsge = 2, .sge = sges };
	const struct post of = { .object = 1, .nwr = 1, .wr = &wr };
	struct trace_event with = event;

	with.post = &of;
	return synth_fill_message(&replay, &end, &with, 0);
}

TEST(bytes_that_were_read_are_there_before)
{
	char *at = memory_of_read();

	(void)state;
	assert_int_equal(fill_read(10 * MB + 4, 8), 0);
	assert_memory_equal(at, "\0\0\0\0abcdefgh\0", 13);
	payload.bytes = "ABCDEFGH";
	assert_int_equal(fill_read(10 * MB + 4, 4), 0); /* it read less */
	assert_memory_equal(at, "\0\0\0\0ABCDefgh\0", 13);
	payload.nbytes = 2;
	payload.bytes = "xyz";
	assert_int_equal(fill_read(10 * MB + 4, 8), 0); /* less was recorded */
	assert_memory_equal(at, "\0\0\0\0xyCDefgh\0", 13);
}

TEST(bytes_that_are_not_known_are_left)
{
	char *at = memory_of_read();

	(void)state;
	has_payload = 0;
	assert_int_equal(fill_read(10 * MB, 8), 0);
	has_payload = -EIO;
	assert_int_equal(fill_read(10 * MB, 8), -EIO);
	has_payload = 1;
	assert_int_equal(fill_read(10 * MB + 99, 8), 0); /* they would go beyond the end */
	map_fini(&far.reads);
	far.reads = (struct map){ 0 };
	assert_int_equal(fill_read(10 * MB, 8), 0);
	assert_memory_equal(at, "\0\0\0\0\0\0\0\0", 8);
}
