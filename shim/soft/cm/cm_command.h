#pragma once
/*
 * The commands. Callers of cm_command_run() hold the connection manager's lock.
 */
#include <stddef.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm_channel.h"

struct cm_command;

/* Find the command in @buf. 0, or -errno like the kernel. */
int cm_command_find(const void *buf, size_t len, struct rdma_ucm_cmd_hdr *hdr,
		    const struct cm_command **ret_command);

/* Process messages, deaths and time limits; then run the command. -EAGAIN: there is no event. */
int cm_command_run(struct cm_channel *channel, const struct cm_command *command, const void *in,
		   size_t in_len, size_t out_len);
