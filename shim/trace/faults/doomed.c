/*
 * Requests that a fault makes fail
 */
#include "shim/trace/faults/doomed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/recording.h"

struct doomed_request {
	const void *queue; /* NULL: free */
	uint32_t qpn;
	uint64_t wr_id;
	struct fault fault;
};

enum { DOOMED_MAX = 4096 };

static struct doomed_request *all; /* DOOMED_MAX entries, allocated when the first one is added */
static atomic_uint ndoomed;

static struct doomed_request *find_free_entry(void)
{
	if (!all)
		all = permit_alloc(DOOMED_MAX, sizeof(*all));
	for (size_t i = 0; all && i < DOOMED_MAX; i++)
		if (!all[i].queue)
			return &all[i];
	return NULL;
}

int doomed_add(const void *queue, uint32_t qpn, uint64_t wr_id, const struct fault *fault)
{
	struct doomed_request *doomed;

	recording_lock();
	doomed = find_free_entry();
	if (doomed) {
		*doomed = (struct doomed_request){ queue, qpn, wr_id, *fault };
		atomic_fetch_add(&ndoomed, 1);
	}
	recording_unlock();
	return doomed ? 0 : -ENOMEM;
}

static void free_doomed(struct doomed_request *doomed)
{
	doomed->queue = NULL;
	atomic_fetch_sub(&ndoomed, 1);
}

void doomed_take_back(const void *queue, uint64_t wr_id)
{
	recording_lock();
	for (size_t i = 0; doomed_has_any() && i < DOOMED_MAX; i++)
		if (all[i].queue == queue && all[i].wr_id == wr_id) {
			free_doomed(&all[i]);
			break;
		}
	recording_unlock();
}

void doomed_forget(const void *queue)
{
	recording_lock();
	for (size_t i = 0; doomed_has_any() && i < DOOMED_MAX; i++)
		if (all[i].queue == queue)
			free_doomed(&all[i]);
	recording_unlock();
}

bool doomed_has_any(void)
{
	return atomic_load_explicit(&ndoomed, memory_order_relaxed);
}

/* Has the device itself failed the request? A flush is only the result of another failure. */
static bool is_of_device(enum ibv_wc_status status)
{
	return status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR;
}

bool doomed_set_status(uint32_t qpn, uint64_t wr_id, enum ibv_wc_status *status,
		       uint32_t *vendor_err)
{
	bool found = false;

	if (!is_of_device(*status))
		return false;
	recording_lock();
	for (size_t i = 0; doomed_has_any() && i < DOOMED_MAX && !found; i++) {
		struct doomed_request *doomed = &all[i];

		if (!doomed->queue || doomed->wr_id != wr_id ||
		    (doomed->qpn && qpn && doomed->qpn != qpn))
			continue;
		*status = (enum ibv_wc_status)doomed->fault.value;
		*vendor_err = doomed->fault.vendor_err;
		free_doomed(doomed);
		found = true;
	}
	recording_unlock();
	return found;
}
