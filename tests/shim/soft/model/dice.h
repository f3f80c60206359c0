#pragma once
/*
 * Random sequences. Each begins with objects and connections, continues at random, and ends with
 * everything polled and destroyed.
 */
#include "tests/shim/soft/model/model.h"

enum { QUEUE_MAX = 64 };

struct dice {
	uint64_t state;
	unsigned int left; /* random steps to come */
	unsigned int stage;
	uint32_t serial;              /* of requests, for their wr_id */
	struct step queue[QUEUE_MAX]; /* what comes next */
	unsigned int first, num;
};

void dice_begin(struct dice *d, uint64_t seed);

/*
 * The next step, which may be guided by @m. False at the end.
 */
bool dice_next(struct dice *d, const struct model *m, struct step *step);

/* Between its parts. */
uint32_t dice_roll(struct dice *d, uint32_t sides);
bool dice_percent(struct dice *d, uint32_t n);
/* @before: how many are in the list already. */
void dice_send(struct dice *d, const struct model *m, const struct model_qp *qp, int before,
	       struct request *wr);
void dice_recv(struct dice *d, const struct model *m, int proc, int pd, struct request *wr);
