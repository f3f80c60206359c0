#pragma once
/*
 * Facts and findings as rows of table `finding`. Not thread-safe.
 */
#include "analyzer/report/fingerprint.h"
#include "core/base/text.h"
#include "core/store/db/finding.h"

/* A finding's row; its texts are borrowed of the finding, @fingerprint, @says and the rules. */
struct stored_finding row_of_finding(const struct report *report, const struct finding *finding,
				     char fingerprint[FINGERPRINT], struct text *says);

/*
 * Call @take with a row, valid during the call, for each fact of trace @part that is neither muted
 * nor known. Returns 0, the result of @take, or -ENOMEM after log_err().
 */
int row_for_each_fact(const struct report *report, size_t part,
		      int (*take)(void *arg, const struct stored_finding *row), void *arg);

struct rows {
	struct stored_finding *all;
	size_t n;
};

/*
 * Rows of all facts and findings of trace @part that are not known, in the order of the report,
 * valid as long as its findings. Returns 0, or -ENOMEM after log_err(); call rows_fini() in either
 * case.
 */
int rows_init(struct rows *rows, const struct report *report, size_t part);
void rows_fini(struct rows *rows);
