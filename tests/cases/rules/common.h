/*
 * What each program here needs before its own work begins: the first device,
 * a way from its port back to itself, and waits that end.
 *
 * Whatever a program is judged by (what it creates, posts, polls and destroys)
 * stands in the program itself.
 */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

struct dev {
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	bool grh; /* the port routes by GID, not by LID */
};

/* An assert that stays in. */
#define need(cond) ((cond) ? (void)0 : die(__FILE__, __LINE__, #cond))
void die(const char *file, int line, const char *what) __attribute__((noreturn));

/* The first device and its port 1. */
void dev_open(struct dev *d);
void dev_close(struct dev *d);

/* The address of this port, for an address handle or for RTR. */
struct ibv_ah_attr dev_self(const struct dev *d);

/* A queue pair with depth requests of one or two SGEs on either side. */
struct ibv_qp *qp_make(struct ibv_pd *pd, enum ibv_qp_type type, struct ibv_cq *scq,
		       struct ibv_cq *rcq, unsigned depth);

/* The three steps of a reliable connection, and all three for a pair. */
void rc_init(struct ibv_qp *qp);
void rc_rtr(const struct dev *d, struct ibv_qp *qp, uint32_t dest);
void rc_rts(struct ibv_qp *qp);
void rc_connect(const struct dev *d, struct ibv_qp *a, struct ibv_qp *b);

/* RESET to RTS of an unreliable datagram queue pair. */
void ud_ready(struct ibv_qp *qp, uint32_t qkey);

/*
 * Polls until n completions are there or ms milliseconds have passed.
 * Returns how many there are, or -1 where ibv_poll_cq() failed.
 */
int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int n, int ms);

/* To ERR, then polls the n completions that are still owed; returns how many came. */
int qp_flush(struct ibv_qp *qp, struct ibv_cq *cq, int n);

void *page_alloc(size_t size); /* whole pages, zeroed; ends with free() */
double now_ms(void);
void sleep_ms(unsigned ms);

/* From here on a crash of this process counts as a normal end. */
void survive_crash(void);

/* For the runner: what this program is about could not happen on this device. */
void not_shown(const char *why);
