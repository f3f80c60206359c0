#pragma once
/*
 * A model of a bad link: what happens to each packet, from a seed. It is the text of a line of a
 * faults file, and of VERBATIM_SOFT_LINK_MODEL. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

struct link_model {
	uint64_t delay, jitter; /* delay and its tolerance, ns */
	uint64_t rate;          /* bit/s, or 0 */
	/* of a million packets */
	uint32_t loss, duplicate, reorder, corrupt, ecn;
	/* ns: the link is down from @cut_from after the first packet, for @cut_for */
	uint64_t cut_from, cut_for;
	uint64_t begun;  /* ns: when the first packet was sent */
	uint64_t seed;   /* changes with each packet */
	uint64_t free;   /* ns: when the link has sent everything, and is free */
	uint64_t latest; /* ns: when the last packet that was not reordered arrives */
};

struct link_fate {
	bool lost, twice;
	bool marked;      /* congestion was experienced */
	uint32_t corrupt; /* number of a bit to be flipped, plus 1; or 0 */
	uint64_t due;     /* time to send it, ns, including the link's delays */
};

/*
 * Read "delay=5us±1us rate=10Gbit loss=0.1% duplicate=1% reorder=1% corrupt=0.1% ecn=5% cut=2s+10s
 * seed=7", whose parts are optional. Returns NULL, or the first invalid part.
 */
const char *link_model_read(const char *text, struct link_model *model);

/*
 * Arrival time in ns of @bytes that enter the link at @now. link_model_judge() also returns what
 * else happens to the packet.
 */
uint64_t link_model_time(struct link_model *model, uint32_t bytes, uint64_t now);
struct link_fate link_model_judge(struct link_model *model, uint32_t bytes, uint64_t now);
