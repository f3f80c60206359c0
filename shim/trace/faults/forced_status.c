/*
 * Requests that a fault makes fail
 */
#include "shim/trace/faults/forced_status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/recording.h"

struct forced_status {
	const void *queue; /* NULL: free */
	uint32_t qpn;
	uint64_t wr_id;
	struct fault fault;
};

enum { FORCED_STATUS_MAX = 4096 };

static struct forced_status
	*all; /* FORCED_STATUS_MAX entries, allocated when the first one is added */
static atomic_uint ndoomed;

static struct forced_status *find_free_entry(void)
{
	if (!all)
		all = permit_alloc(FORCED_STATUS_MAX, sizeof(*all));
	for (size_t i = 0; all && i < FORCED_STATUS_MAX; i++)
		if (!all[i].queue)
			return &all[i];
	return NULL;
}

int forced_status_add(const void *queue, uint32_t qpn, uint64_t wr_id, const struct fault *fault)
{
	struct forced_status *entry;

	recording_lock();
	entry = find_free_entry();
	if (entry) {
		*entry = (struct forced_status){ queue, qpn, wr_id, *fault };
		atomic_fetch_add(&ndoomed, 1);
	}
	recording_unlock();
	return entry ? 0 : -ENOMEM;
}

static void free_entry(struct forced_status *entry)
{
	entry->queue = NULL;
	atomic_fetch_sub(&ndoomed, 1);
}

void forced_status_take_back(const void *queue, uint64_t wr_id)
{
	recording_lock();
	for (size_t i = 0; forced_status_has_any() && i < FORCED_STATUS_MAX; i++)
		if (all[i].queue == queue && all[i].wr_id == wr_id) {
			free_entry(&all[i]);
			break;
		}
	recording_unlock();
}

void forced_status_forget(const void *queue)
{
	recording_lock();
	for (size_t i = 0; forced_status_has_any() && i < FORCED_STATUS_MAX; i++)
		if (all[i].queue == queue)
			free_entry(&all[i]);
	recording_unlock();
}

bool forced_status_has_any(void)
{
	return atomic_load_explicit(&ndoomed, memory_order_relaxed);
}

/* Has the device itself failed the request? A flush is only the result of another failure. */
static bool is_of_device(enum ibv_wc_status status)
{
	return status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR;
}

bool forced_status_apply(uint32_t qpn, uint64_t wr_id, enum ibv_wc_status *status,
			 uint32_t *vendor_err)
{
	bool found = false;

	if (!is_of_device(*status))
		return false;
	recording_lock();
	for (size_t i = 0; forced_status_has_any() && i < FORCED_STATUS_MAX && !found; i++) {
		struct forced_status *entry = &all[i];

		if (!entry->queue || entry->wr_id != wr_id ||
		    (entry->qpn && qpn && entry->qpn != qpn))
			continue;
		*status = (enum ibv_wc_status)entry->fault.value;
		*vendor_err = entry->fault.vendor_err;
		free_entry(entry);
		found = true;
	}
	recording_unlock();
	return found;
}
