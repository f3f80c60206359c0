#pragma once
/*
 * What makes a finding the same in another recording: SARIF's partialFingerprints, baseline files,
 * table `finding`.
 *
 * It is of the rule, the verb and argument that broke it, and the places in the program that made
 * the object and used it: names of functions and source files, or module and offset where those are
 * not known. No times, addresses, numbers of events or objects, no lines. One thread.
 */
#include "analyzer/report/report.h"

enum { FINGERPRINT = 17 }; /* sixteen hexadecimal digits and the end */

/* The same of facts: of the kind, the verb, the errno, signal or status, and the place. */
const char *fingerprint_fact(const struct report *report, const struct fact *fact,
			     char text[FINGERPRINT]);
const char *fingerprint_error(const struct report *report, const struct first_error *error,
			      char text[FINGERPRINT]);

const char *report_fingerprint(const struct report *report, const struct finding *finding,
			       char text[FINGERPRINT]);
