#pragma once
/*
 * Parses --filter. Not thread-safe.
 */
#include "cli/options.h"
#include "core/wire/session.h"

/*
 * Read terms separated by commas: plane=control, plane=data, verb=NAME+NAME, qp=NUMBER+NUMBER,
 * device=NAME, 1/N. Returns 0 or -EINVAL with @complaint set and *@ret_filter untouched.
 */
int filter_read(const char *terms, struct session_filter *ret_filter,
		char complaint[OPTIONS_COMPLAINT]);
