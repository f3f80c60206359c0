#pragma once
/*
 * The failures to try: each is a rule of a faults file. Not thread-safe.
 */
#include "cli/torture/sites.h"

struct failure {
	unsigned int number; /* from 1 */
	const struct site *site;
	uint64_t n;       /* the call, or request, at which it happens; counted as in struct site */
	char rule[384];   /* "process=0 verb=reg_mr n=3 errno=ENOMEM" */
	char what[64];    /* "ibv_reg_mr() fails with ENOMEM" */
	int error;        /* the errno of the call, or 0 */
	int status;       /* the status of the completion, or 0 */
	bool cm_event;    /* librdmacm delivers a different event */
	bool kills;       /* the process */
	bool by_recorder; /* only the recorder can cause this failure */
	bool chaos;       /* nothing fails: what may happen in any order happens in another order */
};

struct failures {
	struct failure *all;
	size_t n;
};

/*
 * List the failures of @sites, which must stay valid: the first call of each site, with one errno
 * or status; with @every also the last call, and each errno that the manual page names. Returns 0
 * and failures for failures_fini(), or -ENOMEM after log_err().
 */
int failures_list(const struct sites *sites, bool every, struct failures *ret_failures);

/*
 * @runs runs in which threads are held at verbs and completions come late at random: the first with
 * @seed, the second with @seed + 1, and so on. As failures_list().
 */
int failures_chaos(uint32_t seed, uint32_t runs, struct failures *ret_failures);

/* The rule of @failure, a call's or a post's, from then on: each call fails. Into @rule. */
void failure_make_persistent(const struct failure *failure, char *rule, size_t size);

void failures_fini(struct failures *failures);
