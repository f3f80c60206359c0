/*
 * Noting which threads poll a CQ
 */
#include "shim/trace/objects/pollers.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/objects/known.h"
#include "shim/trace/ring/recording.h"

struct cq_entry {
	struct known known;
	_Atomic(const void *) thread; /* thread_mark of the first polling thread */
	atomic_bool several;
};

static __thread char thread_mark __attribute__((tls_model("initial-exec")));
static __thread const void *last_polled __attribute__((tls_model("initial-exec")));

void pollers_add(const struct ibv_cq *cq)
{
	struct cq_entry *e;

	recording_lock();
	e = known_find(cq, KNOWN_CQ) ? NULL : permit_alloc(1, sizeof(*e));
	if (e)
		known_add(&e->known, cq, KNOWN_CQ);
	recording_unlock();
}

void pollers_note(const struct ibv_cq *cq)
{
	const void *before = NULL;
	struct cq_entry *e;

	if (last_polled == cq)
		return;
	last_polled = cq;
	e = known_find(cq, KNOWN_CQ);
	if (e && !atomic_compare_exchange_strong(&e->thread, &before, &thread_mark) &&
	    before != &thread_mark)
		atomic_store(&e->several, true);
}

bool pollers_is_single(const struct ibv_cq *cq)
{
	struct cq_entry *e = known_find(cq, KNOWN_CQ);

	return e && !atomic_load(&e->several);
}
