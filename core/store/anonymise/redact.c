/*
 * What --redact replaces while recording
 *
 *	argv	the words of a command line but the first
 *	env	values of variables, unless they are numbers or words such as "yes"
 *	host	names of hosts: of this one, in the arguments of librdmacm, in variables
 *	paths	of programs and libraries, words of command lines and values with a "/"
 */
#include "core/store/anonymise/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/store/anonymise/names.h"
#include "core/store/anonymise/replace.h"
#include "core/wire/log.h"

struct redact {
	struct substitutes *substitutes;
	uint32_t what;
	struct utsname host;
};

int redact_new(uint32_t what, struct redact **ret_redact)
{
	struct redact *redact = calloc(1, sizeof(*redact));
	int err = redact ? substitutes_new(&redact->substitutes) : log_err(-ENOMEM, "--redact");

	if (err) {
		free(redact);
		return err;
	}
	redact->what = what;
	uname(&redact->host);
	*ret_redact = redact;
	return 0;
}

void redact_free(struct redact *redact)
{
	if (!redact)
		return;
	substitutes_free(redact->substitutes);
	free(redact);
}

/* Is @text the name of this host, "node7" or "node7.example.org", not "node71"? */
static bool names_host(const struct redact *redact, const char *text)
{
	const char *host = redact->host.nodename;
	size_t n = strcspn(host, ".");

	for (const char *at = text; n && *at; at++)
		if (!strncmp(at, host, n) && (at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

/* Add a word of a command line after the first. */
static void add_word(struct redact *redact, const char *word, size_t n, struct text *to)
{
	char *copy = strndup(word, n);
	bool whole = redact->what & REDACT_ARGV ||
		     (copy && redact->what & REDACT_HOST && names_host(redact, copy));

	if (!copy)
		to->failed = true;
	else if (whole)
		text_addf(to, "%s",
			  substitute_text(redact->substitutes, SUBSTITUTE_ARGUMENT, copy, n));
	else if (redact->what & REDACT_PATHS && strchr(copy, '/'))
		replace_path(redact->substitutes, copy, to);
	else
		text_add(to, word, n);
	free(copy);
}

/* Add the first word of a command line: the program. */
static void add_program(struct redact *redact, const char *word, size_t n, struct text *to)
{
	struct text path = { 0 };

	text_add(&path, word, n);
	if (redact->what & REDACT_PATHS && !path.failed)
		replace_path(redact->substitutes, path.at, to);
	else
		text_add(to, word, n);
	text_fini(&path);
}

static bool redact_command(struct redact *redact, const char *command, struct text *to)
{
	bool first = true;

	if (!(redact->what & (REDACT_ARGV | REDACT_HOST | REDACT_PATHS)))
		return false;
	for (const char *at = command; *at;) {
		size_t blanks = strspn(at, " \t\r\n"), n = strcspn(at + blanks, " \t\r\n");

		text_add(to, at, blanks);
		at += blanks;
		if (n)
			(first ? add_program : add_word)(redact, at, n, to);
		first = first && !n;
		at += n;
	}
	return true;
}

static bool redact_variable(struct redact *redact, const char *value, struct text *to)
{
	if (!(redact->what & REDACT_ENV) && !(redact->what & REDACT_PATHS && strchr(value, '/')) &&
	    !(redact->what & REDACT_HOST && names_host(redact, value)))
		return false;
	replace_value(redact->substitutes, value, to);
	return true;
}

bool redact_text(struct redact *redact, enum writer_text kind, const char *text, struct text *to)
{
	struct substitutes *s = redact->substitutes;

	switch (kind) {
	case WRITER_COMMAND:
		return redact_command(redact, text, to);
	case WRITER_VARIABLE:
		return redact_variable(redact, text, to);
	case WRITER_PATH:
		if (redact->what & REDACT_PATHS)
			replace_path(s, text, to);
		return redact->what & REDACT_PATHS;
	case WRITER_HOST:
		if (redact->what & REDACT_HOST)
			replace_text(s, IDENTITY_HOST, text, to);
		return redact->what & REDACT_HOST;
	case WRITER_ARGUMENTS:
		if (redact->what & REDACT_HOST)
			replace_hosts(s, text, strlen(text), to);
		return redact->what & REDACT_HOST;
	}
	return false;
}

static bool replace_written(void *arg, enum writer_text kind, const char *text, struct text *to)
{
	return redact_text(arg, kind, text, to);
}

struct writer_redact redact_writer(struct redact *redact)
{
	return redact ? (struct writer_redact){ replace_written, redact }
		      : (struct writer_redact){ 0 };
}
