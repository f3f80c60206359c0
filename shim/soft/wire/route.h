#pragma once
/* The path of packets to another machine. */
#include "shim/soft/wire/icrc.h"

struct route {
	struct icrc_ends ends;
	uint8_t traffic_class;
};
