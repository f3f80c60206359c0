#pragma once
/*
 * What the small programs share: the first device, and giving up.
 *
 * `good` as the only argument makes a program leave out its mistake.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(what)                                                \
	({                                                        \
		typeof(what) need_ = (what);                      \
		if (!need_) {                                     \
			fprintf(stderr, "%s failed\n", #what);    \
			exit(2);                                  \
		}                                                 \
		need_;                                            \
	})
#define MUST(what) ((void)NEED((what) == 0))

static inline bool is_good(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "good");
}

static inline struct ibv_context *open_first_device(void)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct ibv_context *context = NEED(ibv_open_device(NEED(list[0])));

	ibv_free_device_list(list);
	return context;
}

static inline struct ibv_qp *create_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return NEED(ibv_create_qp(pd, &attr));
}
