#pragma once
/*
 * Findings as rows of table `finding`. One thread.
 */
#include "analyzer/report/fingerprint.h"
#include "core/store/db/finding.h"

/* A finding's row; its texts are borrowed of the finding, of @fingerprint and of the rules. */
struct stored_finding row_of(const struct report *report, const struct finding *finding,
			     char fingerprint[FINGERPRINT]);

/*
 * All of trace @part that are not known, in order, for free(): rows and texts in
 * one piece. Returns how many, or -ENOMEM after log_err().
 */
ssize_t row_all(const struct report *report, size_t part, struct stored_finding **ret_rows);
