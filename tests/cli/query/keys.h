#pragma once
/*
 * A recording of requests that the other end refused, each because of its rkey: keys.db
 *
 * Each is numbered by its wr_id, from 1 on. Included by tests/cli/query/query_test.c.
 */
#include "tests/cli/run.h"

static struct keys_objects {
	struct ibv_pd pd;
	struct ibv_mr read_only, other, gone, moving;
	struct ibv_mw unbound, bound, invalid, dead;
} keys;

/* A region of the second process: 4096 bytes. */
static inline void keys_register(struct ibv_mr *mr, struct ibv_pd *pd, uint64_t addr, uint32_t key,
				 int access)
{
	struct example_end *two = &example.ends[1];

	*mr = (struct ibv_mr){ .context = &two->context,
			       .pd = pd,
			       .lkey = key,
			       .rkey = key + 1,
			       .addr = (void *)addr,
			       .length = 4096 };
	make_verb(&two->m, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(pd), addr, 4096, (uint64_t)access),
		  (int64_t)MAKE_PTR(mr), 0);
}

static inline void keys_window(struct ibv_mw *mw, uint32_t rkey, enum ibv_mw_type type)
{
	struct example_end *two = &example.ends[1];

	*mw = (struct ibv_mw){
		.context = &two->context, .pd = &two->pd, .rkey = rkey, .type = type
	};
	make_verb(&two->m, VERB_alloc_mw, MAKE_ARGS(MAKE_PTR(&two->pd), type),
		  (int64_t)MAKE_PTR(mw), 0);
}

static inline void keys_complete(int opcode)
{
	example_poll(&example.ends[1], 0x77, 0, opcode, 0);
}

/* 256 bytes at 0x20100 of the second process's region. */
static inline void keys_bind(const struct ibv_mw *mw, uint32_t rkey, unsigned int access)
{
	struct example_wr wr = { .wr_id = 0x77,
				 .opcode = IBV_WR_BIND_MW,
				 .flags = IBV_SEND_SIGNALED,
				 .bind = { .mw = MAKE_PTR(mw),
					   .rkey = rkey,
					   .mr = MAKE_PTR(&example.ends[1].mr),
					   .addr = 0x20100,
					   .length = 256,
					   .access = access },
				 .parts = WR_BIND };

	example_post(&example.ends[1], wr);
	keys_complete(IBV_WC_BIND_MW);
}

static inline void keys_invalidate(uint32_t rkey)
{
	struct example_wr wr = {
		.wr_id = 0x77, .opcode = IBV_WR_LOCAL_INV, .flags = IBV_SEND_SIGNALED, .imm = rkey
	};

	example_post(&example.ends[1], wr);
	keys_complete(IBV_WC_LOCAL_INV);
}

/* A request that is refused 10 us later. */
static inline void keys_refuse(int opcode, uint64_t addr, uint32_t rkey, uint32_t length)
{
	static uint64_t number;
	struct example_wr wr = { .wr_id = ++number,
				 .opcode = opcode,
				 .flags = IBV_SEND_SIGNALED,
				 .lengths = { length },
				 .rdma = { addr, rkey },
				 .parts = WR_RDMA };

	if (opcode >= IBV_WR_ATOMIC_CMP_AND_SWP)
		wr.parts |= WR_ATOMIC;
	example_at(1000 * number);
	example_post(&example.ends[0], wr);
	example_at(1000 * number + 10);
	example_poll(&example.ends[0], number, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE, 0);
}

static inline void keys_make_objects(struct example_end *two)
{
	keys.pd = (struct ibv_pd){ .context = &two->context, .handle = 9 };
	make_verb(&two->m, VERB_alloc_pd, MAKE_ARGS(MAKE_PTR(&two->context)),
		  (int64_t)MAKE_PTR(&keys.pd), 0);
	keys_register(&keys.read_only, &two->pd, 0x40000, 0x50, IBV_ACCESS_REMOTE_READ);
	keys_register(&keys.other, &keys.pd, 0x50000, 0x60, 15);
	keys_register(&keys.gone, &two->pd, 0x60000, 0x70, 15);
	keys_register(&keys.moving, &two->pd, 0x70000, 0x80, 15);
	keys_window(&keys.unbound, 0x91, IBV_MW_TYPE_1);
	keys_window(&keys.bound, 0xa0, IBV_MW_TYPE_2);
	keys_window(&keys.invalid, 0xb0, IBV_MW_TYPE_2);
	keys_window(&keys.dead, 0xc1, IBV_MW_TYPE_1);
	keys_bind(&keys.bound, 0xa1, IBV_ACCESS_REMOTE_WRITE);
	keys_bind(&keys.invalid, 0xb1, IBV_ACCESS_REMOTE_WRITE);
	keys_invalidate(0xb1);
	make_verb(&two->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&keys.gone)), 0, 0);
	make_verb(&two->m, VERB_dealloc_mw, MAKE_ARGS(MAKE_PTR(&keys.dead)), 0, 0);
}

/* Each word of the sentence about a key, both ways. */
static inline void keys_refuse_all(void)
{
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20408, 0x22, 64); /* 1: no reason */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x2fff0, 0x22, 17); /* 2: past its end */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x2fff0, 0x22, 16);
	keys_refuse(IBV_WR_RDMA_WRITE, 0x1ffff, 0x22, 8);
	keys_refuse(IBV_WR_RDMA_WRITE, 0x40000, 0x51, 8); /* 5: read only */
	keys_refuse(IBV_WR_ATOMIC_CMP_AND_SWP, 0x40000, 0x51, 8);
	keys_refuse(IBV_WR_RDMA_READ, 0x40ffc, 0x51, 8);
	keys_refuse(IBV_WR_RDMA_WRITE, 0x50000, 0x61, 8); /* 8: another domain */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x60000, 0x71, 8); /* 9: deregistered */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0x91, 8); /* 10: not bound */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0xa1, 256);
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0xa1, 257);
	keys_refuse(IBV_WR_RDMA_READ, 0x20100, 0xa1, 8);
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0xa0, 8); /* 14: its key before that */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0xb1, 8); /* 15: invalidated */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0xc1, 8); /* 16: deallocated */
	keys_refuse(IBV_WR_RDMA_WRITE, 0x20100, 0x99, 8); /* 17: never there */
}

/* The last one: while its region is registered anew, which does not return. */
static inline void keys_refuse_meanwhile(struct example_end *two)
{
	make_call(&two->m, VERB_rereg_mr, 0, 0,
		  MAKE_ARGS(MAKE_PTR(&keys.moving), IBV_REREG_MR_CHANGE_TRANSLATION,
			    MAKE_PTR(&two->pd), 0x78000, 8192, 15));
	keys_refuse(IBV_WR_RDMA_WRITE, 0x70000, 0x81, 8);
}

/* The second queue pair allows remote writes only. */
static inline void keys_record(void)
{
	struct example *x = &example;

	example_begin(x);
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		example_create_qp(&x->ends[i], IBV_QPT_RC, 0x111u * (unsigned int)(i + 1), false);
	for (int i = 0; i < EXAMPLE_ENDS; i++) {
		struct ibv_qp_attr attr = example_attr(x, i, true, false);

		attr.qp_access_flags = i ? IBV_ACCESS_REMOTE_WRITE : 15;
		example_connect(x, i, &attr);
	}
	keys_make_objects(&x->ends[1]);
	keys_refuse_all();
	keys_refuse_meanwhile(&x->ends[1]);
	example_finish(x);
	run_name("keys.db");
}
