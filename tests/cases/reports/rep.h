/*
 * Shared by the cases: two ends (processes), a side channel, a device, a connection with every
 * attribute open to the case.
 */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cfg {
	enum ibv_qp_type type;
	int sq, rq, sge, inline_max, cqe;
	int access; /* of the QP */
	int mr_access;
	int mtu, rd, dest_rd;
	int min_rnr, rnr_retry, retry, timeout;
	int vector;
	bool channel, srq, sig_all, no_mr, two_cqs;
	int max_srq;
	uint32_t psn;
};
struct cfg cfg_usual(void);

struct addr {
	uint32_t qpn, psn, lid, rkey, mtu, pad;
	uint64_t va, len;
	union ibv_gid gid;
};

struct end {
	bool server;
	int fd; /* to the other end */
	pid_t child;
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *mem;
	size_t len;
	struct cfg c;
	struct addr own, peer;
};

void two_ends(struct end *e); /* forks, before any verb; false in the client */
void end_open(struct end *e, struct cfg c, size_t len); /* device, PD, CQs, MR, QP in INIT */
void end_swap(struct end *e);                           /* addresses */
int end_rtr(struct end *e);
int end_rts(struct end *e);
void end_connect(struct end *e); /* swap, rtr, rts, and both know */
void end_sync(struct end *e);
int end_close(struct end *e, int rc); /* tears down; the client waits for the server */
void put(struct end *e, const void *p, size_t n);
int get(struct end *e, void *p, size_t n);

int recv_post(struct end *e, uint64_t id, size_t off, size_t len);
int send_post(struct end *e, uint64_t id, size_t off, size_t len, int flags);
int rdma_post(struct end *e, int op, uint64_t id, size_t off, size_t len, uint64_t remote,
	      int flags);
int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int ms); /* 1, or 0 after ms */
double now_ms(void);
void nap(double ms);
void die(const char *f, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define need(x) ((x) ? (void)0 : die("%s:%d: %s: %s", __FILE__, __LINE__, #x, strerror(errno)))
