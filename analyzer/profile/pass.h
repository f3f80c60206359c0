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

/* The part of a trace that is asked for; zeroed: all. */
struct profile_select {
	int64_t from, to; /* ns; to is 0: to the end */
	uint32_t process; /* 0: all */
	/* phases of verbatim_phase(): while a process is in one of them it is counted */
	const char *const *phases;
	size_t nphases;
};

/*
 * @select may be NULL. Returns 0 and a profile to be given to profile_free(); or -errno after
 * log_err(): -ENOENT if there is no such process or phase in the trace.
 */
int profile_trace(struct trace *trace, const struct profile_select *select,
		  struct profile **ret_profile);
