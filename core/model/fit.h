#pragma once
/*
 * When two ends of a connection may belong together: for core/model/peers.h, which knows all that a
 * trace tells, and for the analyzer's model, which knows what has come until now.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/model/place.h"

/* Does an end expect the PSN that the other one begins with? */
static inline bool fit_psn(uint32_t sends, uint32_t expects)
{
	return !((sends ^ expects) & 0xffffff);
}

/*
 * May two ends that were connected to each other's numbers be peers? @there: where the one was
 * connected to, and @back the other, leads to its port; @psn: of one direction the PSN fits;
 * @abroad: they are of two hosts.
 */
static inline bool fit_ends(enum placed there, enum placed back, bool psn, bool abroad)
{
	if (there == PLACED_ELSEWHERE || back == PLACED_ELSEWHERE)
		return false;
	return !abroad || (there == PLACED_THERE && back == PLACED_THERE && psn);
}
