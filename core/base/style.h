#pragma once
/*
 * Colours by role, the only escape sequences of the command: ECMA-48, SGR.
 *
 * A role is written only if styles are enabled; a filter behind all output passes these sequences
 * and no others (cli/screen.h). Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN, /* ends each of the other styles */
	STYLE_HEAD,  /* titles, verbs */
	STYLE_DIM,   /* call stacks, sources: what most readers skip */
	STYLE_ERROR,
	STYLE_WARNING,
	STYLE_HAZARD,
	STYLE_GOOD, /* a verdict without a complaint */
	STYLE_NAME, /* events, objects, rules */
	STYLES,
};

enum { STYLE_LENGTH = 5 }; /* of the longest sequence */

/* Styles are disabled at first. */
void style_enable(bool on);
bool style_is_enabled(void);

/* The escape sequence of @style; "" if styles are disabled. */
const char *style_sequence(enum style style);

/* Begin @style in @out; nothing if styles are disabled. */
void style_put(FILE *out, enum style style);

/* Print @text, which must be our own, not foreign text, in @style. */
void style_text(FILE *out, enum style style, const char *text);

/* The style of a finding with @severity: 'E', 'W', 'H', 'P' or 'I'. */
enum style style_of_severity(char severity);

/* The length of the escape sequence at the beginning of @text, if styles are enabled; 0: none. */
size_t style_length(const char *text, size_t n);

/*
 * The number of bytes of @text before an incomplete escape sequence at its end; @n if there is
 * none.
 */
size_t style_complete_length(const char *text, size_t n);
