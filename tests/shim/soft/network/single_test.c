/* Flushes and atomic writes to a stranger: their packets, and how they complete. */
#include "tests/shim/soft/network/stranger.h"
#include "tests/test.h"

GROUP(open_device, close_device);

/* Flags of newer headers, which have the slot behind the last one of these. */
enum { WITH_FLUSH = 1 << 11, WC_FLUSH = 8, GLOBAL = 1, REGION = 1 };

typedef void flush_fn(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		      uint8_t type, uint8_t level);

static flush_fn *flush_of(struct ibv_qp_ex *ex)
{
	size_t at = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *);

	return *(flush_fn **)((char *)ex + at);
}

static struct ibv_qp_ex *connect_builder(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = end.cq,
		.recv_cq = end.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { END_DEPTH, END_DEPTH, 4, 4, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end.pd,
		.send_ops_flags = WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(end.context, &attr);
	struct ibv_qp_ex *ex;

	assert_non_null(qp);
	settings.timeout = 0;
	connect_qp(qp);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

/* The request completes only with an empty read response. */
static void answer_as_read(struct ibv_qp_ex *ex, int opcode)
{
	struct header h = header_of(OPCODE_READ_RESPONSE_ONLY, PSN);
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 0);
	h.bth.dest_qp = ex->qp_base.qp_num;
	h.aeth.syndrome = AETH_ACK;
	send_as_peer(&h, bytes, 0);
	while (!ibv_poll_cq(end.cq, 1, &wc))
		;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

TEST(a_flush_is_a_packet)
{
	uint8_t payload[PACKET];
	struct ibv_qp_ex *ex;
	struct header h;

	NEEDS_NETWORK();
	ex = connect_builder();
	flush_of(ex)(ex, 0x1234, 0x567800, 4711, GLOBAL, REGION);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(take_packet(&h, payload), 0);
	assert_int_equal(h.bth.opcode, OPCODE_FLUSH_REQUEST);
	assert_int_equal(h.feth.type, GLOBAL);
	assert_int_equal(h.feth.level, REGION);
	assert_int_equal(h.reth.addr, 0x567800);
	assert_int_equal(h.reth.rkey, 0x1234);
	assert_int_equal(h.reth.length, 4711);
	answer_as_read(ex, WC_FLUSH);
}

TEST(an_atomic_write_is_a_packet)
{
	uint8_t payload[PACKET];
	struct ibv_qp_ex *ex;
	struct header h;

	NEEDS_NETWORK();
	ex = connect_builder();
	ibv_wr_atomic_write(ex, 0x1234, 0x567800, bytes);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(take_packet(&h, payload), 8);
	assert_int_equal(h.bth.opcode, OPCODE_ATOMIC_WRITE_ONLY);
	assert_int_equal(h.reth.addr, 0x567800);
	assert_int_equal(h.reth.rkey, 0x1234);
	assert_int_equal(h.reth.length, 8);
	assert_memory_equal(payload, bytes, 8);
	answer_as_read(ex, IBV_WC_ATOMIC_WRITE);
}
