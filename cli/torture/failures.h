#pragma once
/*
 * The failures that are tried: one rule of the faults file each. One thread.
 */
#include "cli/torture/sites.h"

struct failure {
	unsigned int number; /* from 1 */
	const struct site *site;
	uint64_t n;     /* the call, or request, at which it happens; counted as in struct site */
	char rule[128]; /* "process=0 verb=reg_mr n=3 errno=ENOMEM" */
	char what[64];  /* "ibv_reg_mr() fails with ENOMEM" */
	int error;      /* the errno of the call, or 0 */
	int status;     /* the status of the completion, or 0 */
};

struct failures {
	struct failure *all;
	size_t n;
};

/*
 * List the failures of @sites, which must stay: of each site the first call, with one errno or
 * status; with @every the last call, too, with each errno that the manual page names. Returns 0 and
 * failures for failures_fini(), or -ENOMEM after log_err().
 */
int failures_list(const struct sites *sites, bool every, struct failures *ret_failures);
void failures_fini(struct failures *failures);
