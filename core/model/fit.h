#pragma once
/*
 * Can two ends of a connection be peers? Used by core/model/peers.h, with the whole trace, and by
 * the analyzer's model, with the events so far.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/model/place.h"

/* Does one end begin with the PSN that the other end expects? */
static inline bool fit_psn(uint32_t sends, uint32_t expects)
{
	return !((sends ^ expects) & 0xffffff);
}

/*
 * Can two ends that were connected to each other's queue pair numbers be peers? @there: the
 * destination of one end leads to the other's port; @back: the reverse; @psn: the PSN of one
 * direction fits; @abroad: they are on two hosts.
 */
static inline bool fit_ends(enum placed there, enum placed back, bool psn, bool abroad)
{
	if (there == PLACED_ELSEWHERE || back == PLACED_ELSEWHERE)
		return false;
	return !abroad || (there == PLACED_AT_PORT && back == PLACED_AT_PORT && psn);
}
