#pragma once
/*
 * The identity of a finding across recordings: SARIF's partialFingerprints, baseline files, table
 * `finding`.
 *
 * It is computed from the rule, the verb and argument that broke it, and the places in the program
 * that created and used the object: names of functions and source files, or module and offset if
 * those are not known. It does not depend on times, addresses, numbers of events or objects, or
 * lines. Not thread-safe.
 */
#include "analyzer/report/report.h"

enum { FINGERPRINT = 17 }; /* sixteen hexadecimal digits and the terminating zero */

/* The same for facts: from the kind, the verb, the errno, signal or status, and the place. */
const char *fingerprint_fact(const struct report *report, const struct fact *fact,
			     char text[FINGERPRINT]);
const char *fingerprint_error(const struct report *report, const struct first_error *error,
			      char text[FINGERPRINT]);

const char *report_fingerprint(const struct report *report, const struct finding *finding,
			       char text[FINGERPRINT]);
