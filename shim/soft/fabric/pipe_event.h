#pragma once
/*
 * The records in the pipes of the fabric.
 */
#include <stdint.h>

/* Values of @kind. They are magic numbers, so that a record is recognised after garbage. */
enum {
	PIPE_COMPLETION = 0x56657231,
	PIPE_CQ,
	PIPE_QP,
	PIPE_SRQ,
	PIPE_PORT,
	PIPE_END,
};

struct pipe_event {
	uint32_t kind;   /* kind of the object and the event */
	uint32_t index;  /* slot of the object in the segment */
	uint32_t serial; /* of the object: an event with another serial is dropped */
	uint32_t type;   /* enum ibv_event_type */
};
