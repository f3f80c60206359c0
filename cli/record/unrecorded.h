#pragma once
/*
 * What a session could not record: reported at its end, and written into the
 * trace.
 *
 * Not thread-safe. Functions return 0 or -errno of the writer.
 */
#include <stdint.h>

#include "cli/record/ring_search.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

/* Threads without a ring, most often for lack of shared memory; programs of other users. */
int unrecorded_report_threads(const struct session *session, struct writer *writer);

/* Memory that threads did not get, and waits that threads gave up. */
int unrecorded_report_memory(const struct session *session, struct writer *writer);

/* Files of rings that cannot be read: *@ret_rings of them. */
int unrecorded_report_rings(struct ring_search *search, struct writer *writer, uint32_t *ret_rings);
