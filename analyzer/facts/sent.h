#pragma once
/*
 * What was sent to queue pairs that cannot refuse it: UC and UD.
 *
 * Such a message is lost where it does not fit, and neither end is told.
 *
 * One thread.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

struct model;

/* To one number. */
struct sent_to {
	uint64_t messages;
	uint64_t bytes; /* of the last of them */
	uint32_t process, qp;
};

struct sent {
	struct map by_number; /* 1 + index in `all` */
	struct sent_to *all;
	size_t n;
	/* whose post was last: what it is connected to, if it is UC; forgotten by sent_changed() */
	uint64_t handle;
	uint32_t process, dest;
};

/* What a post of the application says of others; what there is no memory for is not known. */
void sent_post(struct sent *sent, struct model *model, const struct trace_event *event);

/* A queue pair may have been made, connected or destroyed. */
void sent_changed(struct sent *sent);

/* NULL: nothing that is known. */
const struct sent_to *sent_find(const struct sent *sent, uint32_t number);

void sent_fini(struct sent *sent);
