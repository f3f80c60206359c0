#pragma once
/*
 * The contents of a profile, and the default one. Any thread.
 */
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/link.h"

enum { PROFILE_TEXT = 64 };

struct profile {
	struct ibv_device_attr_ex attr; /* verbs enforce these limits */
	uint32_t max_inline_data;
	uint32_t num_comp_vectors;
	char name[PROFILE_TEXT];
	char hca_type[PROFILE_TEXT];
	char board_id[PROFILE_TEXT];
	char node_desc[PROFILE_TEXT];
	uint32_t num_ports; /* 0: the port of the device's own link */
	struct port port[PORT_MAX];
};

/* Limits of the device that do not depend on shared memory. */
enum {
	PROFILE_MAX_PD = 1 << 15,
	PROFILE_MAX_DM = 256 << 10, /* bytes per process */
};

/* The default profile, without ports. */
void profile_fill_own(struct profile *out);
