#pragma once
/*
 * The records in the pipes of the fabric.
 */
#include <stdint.h>

/* Telling enough to find a record again behind what is none. */
enum {
	PIPE_COMPLETION = 0x56657231,
	PIPE_CQ,
	PIPE_QP,
	PIPE_SRQ,
	PIPE_PORT,
	PIPE_END,
};

struct pipe_event {
	uint32_t kind;   /* of object */
	uint32_t index;  /* its slot in the segment */
	uint32_t serial; /* whose there: drop if another's */
	uint32_t type;   /* enum ibv_event_type */
};
