/*
 * Divergences that a user accepts
 */
#include "replay/report/tolerate.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/desc.h"

enum { WORDS = 4 };

struct rule {
	struct tolerate_line line;
	char *text;                        /* the line, which the fields below point into */
	const char *verb, *field, *object; /* object: without its process */
	uint32_t process;                  /* 0: any */
	struct event_id first, last;       /* thread 0: any; last.n is the greatest for T:* */
};

struct tolerate {
	char *path;
	struct rule *rules;
	size_t nrules;
};

static bool read_count(const char **text, uint64_t *ret_number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(*text, &end, 10);
	*text = end;
	return !errno;
}

static bool read_number(const char **text, uint32_t *ret_number)
{
	uint64_t n;

	if (!read_count(text, &n) || n > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

static bool read_event(const char **text, struct event_id *ret_event)
{
	if (!read_number(text, &ret_event->thread) || *(*text)++ != ':')
		return false;
	return read_count(text, &ret_event->n) && ret_event->thread;
}

/* "*", "T:*", "T:N", "T:N-T:M" */
static bool read_events(struct rule *rule, const char *text)
{
	const char *at = text;

	if (!strcmp(text, "*"))
		return true;
	if (read_number(&at, &rule->first.thread) && !strcmp(at, ":*")) {
		rule->last = (struct event_id){ rule->first.thread, UINT64_MAX };
		return rule->first.thread;
	}
	at = text;
	if (!read_event(&at, &rule->first))
		return false;
	rule->last = rule->first;
	if (!*at)
		return true;
	return *at++ == '-' && read_event(&at, &rule->last) && !*at &&
	       rule->last.thread == rule->first.thread && rule->last.n >= rule->first.n;
}

static bool read_object(struct rule *rule, char *text)
{
	char *slash = strchr(text, '/');
	const char *at = slash ? slash + 1 : NULL;

	rule->object = text;
	if (!slash)
		return true;
	*slash = '\0';
	return read_number(&at, &rule->process) && !*at && rule->process;
}

/* Is @pattern valid? A name that no verb has is an error; a pattern may be for future verbs. */
static bool is_verb(const char *pattern)
{
	char name[96];

	if (strpbrk(pattern, "*?"))
		return true;
	snprintf(name, sizeof(name), "%s%s", strncmp(pattern, "ibv_", 4) ? "ibv_" : "", pattern);
	for (int v = 0; v < VERB_COUNT; v++)
		if (!strcmp(verb_infos[v].name, name) || !strcmp(verb_infos[v].name, pattern))
			return true;
	return false;
}

/* The reason why the line is invalid, or NULL. */
static const char *read_rule(struct rule *rule, char *line)
{
	char *words[WORDS], *rest = line;

	for (int i = 0; i < WORDS; i++) {
		rest += strspn(rest, " \t");
		words[i] = rest;
		rest += strcspn(rest, " \t");
		if (!*words[i])
			return "a line needs a verb, a field, events, an object and a reason";
		if (*rest)
			*rest++ = '\0';
	}
	rest += strspn(rest, " \t");
	if (!*rest)
		return "the reason after the object is missing";
	rule->verb = words[0];
	rule->field = words[1];
	rule->line.reason = rest;
	if (!is_verb(words[0]))
		return "unknown verb";
	if (!read_events(rule, words[2]))
		return "events must be *, T:*, T:N or T:N-T:M of one thread";
	if (!read_object(rule, words[3]))
		return "an object must be a name such as qp1, or qp1/PROCESS";
	return NULL;
}

static bool is_comment(const char *line)
{
	line += strspn(line, " \t");
	return !*line || *line == '#';
}

static int add_rule(struct tolerate *t, const char *line, unsigned int number,
		    char complaint[TOLERATE_COMPLAINT])
{
	struct rule *rule = vec_push(t->rules, t->nrules);
	const char *wrong;

	if (!rule)
		return -ENOMEM;
	rule->line.number = number;
	rule->text = strdup(line);
	if (!rule->text)
		return -ENOMEM;
	wrong = read_rule(rule, rule->text);
	if (!wrong)
		return 0;
	snprintf(complaint, TOLERATE_COMPLAINT, "%s:%u: %s: '%.80s'", t->path, number, wrong, line);
	return -EINVAL;
}

static int read_rules(struct tolerate *t, FILE *file, char complaint[TOLERATE_COMPLAINT])
{
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && getline(&line, &size, file) >= 0) {
		number++;
		line[strcspn(line, "\r\n")] = '\0';
		if (!is_comment(line))
			err = add_rule(t, line, number, complaint);
	}
	if (!err && ferror(file))
		err = -EIO;
	free(line);
	return err;
}

int tolerate_open(const char *path, char complaint[TOLERATE_COMPLAINT],
		  struct tolerate **ret_tolerate)
{
	struct tolerate *t = calloc(1, sizeof(*t));
	FILE *file = fopen(path, "re");
	int err = file ? 0 : -errno;

	*complaint = '\0';
	if (!err && t)
		t->path = strdup(path);
	if (!t || (!err && !t->path))
		err = -ENOMEM;
	if (!err)
		err = read_rules(t, file, complaint);
	if (file)
		fclose(file);
	if (!err) {
		*ret_tolerate = t;
		return 0;
	}
	if (!*complaint)
		snprintf(complaint, TOLERATE_COMPLAINT, "read %s: %s", path, strerror(-err));
	tolerate_close(t);
	return err;
}

void tolerate_close(struct tolerate *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nrules; i++)
		free(t->rules[i].text);
	free(t->rules);
	free(t->path);
	free(t);
}

/* As fnmatch(3), but brackets are literal, as in the field "wc[0]". */
static bool matches_text(const char *pattern, const char *text)
{
	char escaped[256];
	size_t n = 0;

	for (; *pattern && n < sizeof(escaped) - 2; pattern++) {
		if (strchr("[]\\", *pattern))
			escaped[n++] = '\\';
		escaped[n++] = *pattern;
	}
	escaped[n] = '\0';
	return !*pattern && !fnmatch(escaped, text, 0);
}

static bool matches_verb(const char *pattern, const char *verb)
{
	return matches_text(pattern, verb) ||
	       (!strncmp(verb, "ibv_", 4) && matches_text(pattern, verb + 4));
}

static bool matches_event(const struct rule *rule, struct event_id event)
{
	return !rule->first.thread || (event.thread == rule->first.thread &&
				       event.n >= rule->first.n && event.n <= rule->last.n);
}

static bool matches_query(const struct rule *rule, const struct tolerate_query *q)
{
	return matches_event(rule, q->event) && (!rule->process || rule->process == q->process) &&
	       matches_text(rule->object, q->object) && matches_verb(rule->verb, q->verb) &&
	       matches_text(rule->field, q->field);
}

int tolerate_find(struct tolerate *t, const struct tolerate_query *query)
{
	for (size_t i = 0; t && i < t->nrules; i++)
		if (matches_query(&t->rules[i], query)) {
			t->rules[i].line.used++;
			return (int)i;
		}
	return -1;
}

struct tolerate_line *tolerate_line(struct tolerate *t, size_t i)
{
	return t && i < t->nrules ? &t->rules[i].line : NULL;
}

const char *tolerate_path(const struct tolerate *t)
{
	return t->path;
}
