#pragma once
/*
 * The RDMA objects of a process that the kernel knows, by RDMA netlink (NETLINK_RDMA, nldev).
 *
 * The kernel reports keys and some attributes only to users with CAP_NET_ADMIN. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum kernel_kind {
	KERNEL_CONTEXT,
	KERNEL_PD,
	KERNEL_CQ,
	KERNEL_QP,
	KERNEL_SRQ,
	KERNEL_MR,
	KERNEL_CM_ID,
	KERNEL_KINDS,
};

struct kernel_object {
	enum kernel_kind kind;
	char device[64];
	uint32_t number; /* of a queue pair, else the kernel's number of the object */
	uint32_t pd;
	pid_t pid;             /* its process; 0: the kernel */
	uint32_t peer;         /* queue pair: number of its peer; 0: none */
	uint8_t type, state;   /* queue pair: enum ibv_qp_type, ibv_qp_state; id: of the kernel */
	uint32_t cqe;          /* CQ */
	uint64_t users;        /* CQ, PD: objects that use it */
	uint32_t lkey, rkey;   /* region; 0: not reported by the kernel */
	uint64_t iova, length; /* region */
};

struct kernel {
	struct kernel_object *objects; /* of the process */
	size_t n;
	size_t ndevices;
	char why[128]; /* why the kernel cannot be asked; "": it answered */
};

/* Ask for the objects of @pid. 0 or -ENOMEM; the kernel may not answer: ret_kernel->why. */
int kernel_read(pid_t pid, struct kernel *ret_kernel);
void kernel_fini(struct kernel *kernel);

/* "queue pair", "CQ", ... */
const char *kernel_kind_name(enum kernel_kind kind);

/*
 * Add the objects of @pid in @n bytes of messages, an answer to the question for @kind. 1: more
 * will come; 0: this was the last; -errno: the kernel refused, or it answers something else.
 */
int kernel_parse(const void *messages, size_t n, enum kernel_kind kind, pid_t pid,
		 struct kernel *kernel);
