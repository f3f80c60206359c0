#pragma once
/*
 * What the device looks like: its names, limits and ports.
 *
 * Its own are those of device.c and port.c. VERBATIM_SOFT_PERSONA names a file
 * that describes another machine's (docs/SOFT-DEVICE.md has its form). Read
 * once, as the library is loaded; any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/port.h"

enum { PERSONA_TEXT = 64 };

struct persona {
	struct ibv_device_attr_ex attr;		/* what verbs enforce, too */
	uint32_t	max_inline_data;
	uint32_t	num_comp_vectors;
	char		name[PERSONA_TEXT];
	char		hca_type[PERSONA_TEXT];
	char		board_id[PERSONA_TEXT];
	char		node_desc[PERSONA_TEXT];
	uint32_t	num_ports;		/* 0: of the device's own link */
	struct port	port[PORT_MAX];
};

/* Never NULL. The device's own if nothing, or nothing good, was given. */
const struct persona *persona_get(void);

/* That one's limits. */
static inline const struct ibv_device_attr *persona_limits(void)
{
	return &persona_get()->attr.orig_attr;
}

/*
 * What is wrong with the file that was given: 0, or -errno; the first call says it on
 * stderr.
 */
int persona_check(void);

/*
 * Describe the file at @path in *@out. 0; or -EINVAL, or -errno if it cannot
 * be read, with one line about it in @why.
 */
enum { PERSONA_WHY = 256 };
int persona_read(const char *path, struct persona *out, char why[PERSONA_WHY]);

/* The device's own, without ports; of device.c. */
void device_own(struct persona *out);
