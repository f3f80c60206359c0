/*
 * The delay and the rate of the link, within the fabric
 *
 * A request is executed when its message would arrive: after all bytes posted before it have left
 * at the link's rate, and after the delay. A response takes the delay once more, so RDMA reads and
 * atomics take it twice. All queue pairs of a process share its link, whose time is assigned to
 * requests in the order of their posts; otherwise queue pairs do not wait for each other.
 *
 * A request without a response completes when it is executed, not after an acknowledge, which would
 * take the delay once more.
 */
#include "shim/soft/transport/latency.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/soft/fabric/process.h"
#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/fault.h"

bool latency_any;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct link_model model, given;
static bool has_model, loaded;

static int report_wrong(const char *wrong)
{
	char line[160];
	int n;

	n = snprintf(line, sizeof(line), "verbatim-soft: VERBATIM_SOFT_LINK_MODEL: '%.80s'\n",
		     wrong);
	return write(STDERR_FILENO, line, n) < 0 ? -EINVAL : -EINVAL;
}

static int read_model(void)
{
	const char *text = getenv("VERBATIM_SOFT_LINK_MODEL"), *wrong;

	if (text && *text) {
		wrong = link_model_read(text, &given);
		if (wrong)
			return report_wrong(wrong);
		has_model = true;
	} else if (fault_link()) {
		given = *fault_link();
		has_model = true;
	}
	return 0;
}

int latency_load(void)
{
	int err = loaded ? 0 : read_model();

	if (err < 0 || loaded)
		return err;
	model = given;
	loaded = true;
	__atomic_store_n(&latency_any, has_model && (model.delay || model.rate), __ATOMIC_RELAXED);
	return 0;
}

void latency_unload(void)
{
	pthread_mutex_init(&mutex, NULL);
	loaded = has_model = latency_any = false;
}

const struct link_model *latency_model(void)
{
	return has_model ? &given : NULL;
}

static uint64_t arrival_time(const struct soft_wr *wr, uint64_t now)
{
	bool local = wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV;
	uint64_t due;

	if (local)
		return now;
	pthread_mutex_lock(&mutex);
	due = link_model_time(&model, wr->length, now);
	pthread_mutex_unlock(&mutex);
	return due + (execute_reads_back(wr->opcode) ? model.delay : 0);
}

void latency_set_arrival(struct soft_qp *qp, uint32_t pos, const struct soft_wr *wr)
{
	struct soft_sq *sq = &qp->sq;

	if (qp->wire)
		return;
	if (!sq->due)
		sq->due = calloc(sq->mask + 1ul, sizeof(*sq->due));
	if (sq->due)
		sq->due[pos & sq->mask] = arrival_time(wr, process_now());
}

/* Does the request leave this machine? Then its packets use a separate link. */
static bool leaves_fabric(const struct soft_qp *qp, const struct soft_wr *wr)
{
	return qp->shm->type == IBV_QPT_UD && wr->ah->away;
}

bool latency_holds(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_sq *sq = &qp->sq;
	uint64_t due = sq->due ? sq->due[sq->next & sq->mask] : 0;

	if (due <= process_now() || leaves_fabric(qp, wr))
		return false;
	sq->wait = WAIT_HELD;
	sq->wait_until = due;
	return true;
}
