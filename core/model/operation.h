#pragma once
/*
 * What the operation of a request does, by its opcode (enum ibv_wr_opcode): the only place that
 * defines this. The numbers are those of <infiniband/verbs.h>, part of a binary interface, and
 * never change.
 *
 * The guest (shim/trace) and the software device do not use it.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum operation_abi {
	ABI_WR_RDMA_WRITE = 0,
	ABI_WR_RDMA_WRITE_WITH_IMM = 1,
	ABI_WR_SEND = 2,
	ABI_WR_SEND_WITH_IMM = 3,
	ABI_WR_RDMA_READ = 4,
	ABI_WR_ATOMIC_CMP_AND_SWP = 5,
	ABI_WR_ATOMIC_FETCH_AND_ADD = 6,
	ABI_WR_LOCAL_INV = 7,
	ABI_WR_BIND_MW = 8,
	ABI_WR_SEND_WITH_INV = 9,
	ABI_WR_TSO = 10,
	ABI_WR_DRIVER1 = 11,
	ABI_WR_FLUSH = 14, /* older headers lack it */
	ABI_WR_ATOMIC_WRITE = 15,

	ABI_ACCESS_LOCAL_WRITE = 1 << 0, /* enum ibv_access_flags */
	ABI_ACCESS_REMOTE_WRITE = 1 << 1,
	ABI_ACCESS_REMOTE_READ = 1 << 2,
	ABI_ACCESS_REMOTE_ATOMIC = 1 << 3,
};

/*
 * Did the peer of a connection answer a request with this status (enum ibv_wc_status)? Then it was
 * in RTR, and was not destroyed before.
 */
static inline bool operation_is_answered(int status)
{
	switch (status) {
	case 0:  /* SUCCESS */
	case 9:  /* REM_INV_REQ_ERR */
	case 10: /* REM_ACCESS_ERR */
	case 11: /* REM_OP_ERR */
	case 13: /* RNR_RETRY_EXC_ERR */
		return true;
	default:
		return false;
	}
}

/* Does the operation consume one receive of the peer? For TSO, see operation_is_message(). */
static inline bool operation_takes_receive(int opcode)
{
	return opcode == ABI_WR_SEND || opcode == ABI_WR_SEND_WITH_IMM ||
	       opcode == ABI_WR_SEND_WITH_INV || opcode == ABI_WR_RDMA_WRITE_WITH_IMM;
}

/* Does the operation complete a receive of the peer (TSO: one for each packet)? */
static inline bool operation_is_message(int opcode)
{
	return operation_takes_receive(opcode) || opcode == ABI_WR_TSO;
}

/* Does the peer respond with data for the request's elements: a READ or an atomic? */
static inline bool operation_reads(int opcode)
{
	return opcode == ABI_WR_RDMA_READ || opcode == ABI_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == ABI_WR_ATOMIC_FETCH_AND_ADD;
}

/* The access flags that the request needs for its own elements; a receive has a negative opcode. */
static inline uint32_t operation_needs(int opcode)
{
	return opcode < 0 || operation_reads(opcode) ? ABI_ACCESS_LOCAL_WRITE : 0;
}

/*
 * The same for the peer's memory; 0: the operation has no rkey, or (FLUSH) needs no particular
 * access.
 */
static inline uint32_t operation_needs_remote(int opcode)
{
	switch (opcode) {
	case ABI_WR_RDMA_WRITE:
	case ABI_WR_RDMA_WRITE_WITH_IMM:
	case ABI_WR_ATOMIC_WRITE:
		return ABI_ACCESS_REMOTE_WRITE;
	case ABI_WR_RDMA_READ:
		return ABI_ACCESS_REMOTE_READ;
	case ABI_WR_ATOMIC_CMP_AND_SWP:
	case ABI_WR_ATOMIC_FETCH_AND_ADD:
		return ABI_ACCESS_REMOTE_ATOMIC;
	default:
		return 0;
	}
}

/* Does the request have a key of the peer's memory? */
static inline bool operation_has_rkey(int opcode)
{
	return operation_needs_remote(opcode) || opcode == ABI_WR_FLUSH;
}
