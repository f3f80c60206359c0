#pragma once
/*
 * Reports of findings, for people and for programs.
 *
 * Not thread-safe.
 */
#include <stdio.h>

#include "analyzer/rules/findings.h"
#include "analyzer/report/symbols.h"

struct suppressions;

struct report {
	FILE *out;
	struct trace *trace;
	const char *path; /* of the trace, as the user gave it */
	const struct findings *findings;
	struct symbols *symbols;
	struct suppressions *known; /* known.h; NULL: no finding is known */
	bool full; /* findings of performance and information with steps and advice, too */
};

/* The first screen, then each error and finding with its call stacks. Returns 0 or -ENOMEM. */
int report_text(const struct report *report);

/* The part after the first screen. Returns 0 or -ENOMEM. */
int report_print_details(const struct report *report);

/*
 * Parts of the report. @told has RULE_COUNT elements: rules whose advice has been printed already.
 */
void report_print_error(const struct report *report, const struct first_error *error);
void report_print_finding(const struct report *report, const struct finding *finding, bool *told);
void report_print_unchecked(const struct report *report);

/* The failures, in at most 24 lines. Returns 0 or -ENOMEM after log_err(). */
int report_screen(const struct report *report);

/* One object; docs/man/verbatim-check.1 has its fields. Returns 0 or -ENOMEM after log_err(). */
int report_json(const struct report *report);

/* SARIF 2.1.0, JUnit; @status is the exit status to report. 0 or -ENOMEM after log_err(). */
int report_sarif(const struct report *report, int status);
int report_junit(const struct report *report, int status);

/* Explain a rule: everything that rules.def has about it. */
void report_rule(FILE *out, enum rule_id rule);

/* Print the text of a rule as in docs/RULES.md. */
void report_markdown(FILE *out, enum rule_id rule);

/* A line for each rule. */
void report_rules(FILE *out);

/* "IBV_WC_REM_ACCESS_ERR", or its number in @text */
const char *report_status(int status, char text[32]);

/* "IBV_WR_RDMA_WRITE", "receive" */
const char *report_opcode(const struct first_request *request, char text[32]);

/* "qp2", "a queue pair" */
const char *report_qp(const struct first_error *error);

enum { REPORT_FRAMES = 16 };

struct report_line {
	struct frame frame;
	struct symbol symbol;
};

/*
 * A stack without the functions of the recorder and of the program's start-up, one function a line;
 * returns how many, at most REPORT_FRAMES.
 */
unsigned int report_stack(const struct report *report, uint32_t stack,
			  struct report_line lines[REPORT_FRAMES]);
