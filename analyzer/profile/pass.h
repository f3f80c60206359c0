#pragma once
/*
 * Making a profile: one pass of the events through the model.
 *
 * The model sees all events; counted are those of the part that was asked for. A completion counts
 * where it was polled, a request where it was posted.
 *
 * One thread.
 */
#include "analyzer/profile/profile.h"
#include "core/store/read/trace.h"

/*
 * @select may be NULL. Returns 0 and a profile to be given to profile_free(); or -errno after
 * log_err(): -ENOENT if there is no such process or phase in the trace.
 */
int profile_trace(struct trace *trace, const struct profile_select *select,
		  struct profile **ret_profile);
