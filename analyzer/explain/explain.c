/*
 * Tables of completion statuses, asynchronous events and errnos
 *
 * Rows are found by name: the numbers of the names come from the lists of core/wire, which use the
 * header.
 */
#include "analyzer/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ERRNOS = 4096 }; /* the kernel's largest */

struct named_explanation {
	const char *name;
	struct explanation explanation;
};

static const struct named_explanation statuses[] = {
#define STATUS(name, ...) { #name, { __VA_ARGS__ } },
#include "analyzer/explain/statuses.def"
#undef STATUS
};

static const struct named_explanation events[] = {
#define EVENT(name, ...) { #name, { __VA_ARGS__ } },
#include "analyzer/explain/events.def"
#undef EVENT
};

static const struct {
	const char *verbs, *errnos; /* names with blanks between */
	struct explanation explanation;
} errnos[] = {
#define ERRNO(verbs, errnos, ...) { verbs, #errnos, { NULL, __VA_ARGS__ } },
#include "analyzer/explain/errnos.def"
#undef ERRNO
};

enum {
	STATUS_ROWS = sizeof(statuses) / sizeof(*statuses),
	EVENT_ROWS = sizeof(events) / sizeof(*events),
	ERRNO_ROWS = sizeof(errnos) / sizeof(*errnos),
};

static const struct explanation *find_row(const struct named_explanation *rows, int n,
					  const char *info, int number)
{
	const char *name = enum_name(enum_find(info), number);

	for (int i = 0; name && i < n; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i].explanation;
	return NULL;
}

static unsigned int find_limit(const char *word, size_t length)
{
	static const struct {
		const char *word;
		unsigned int limit;
	} words[] = { { "receive", EXPLAIN_RECEIVE }, { "send", EXPLAIN_SEND },
		      { "write", EXPLAIN_WRITE },     { "read", EXPLAIN_READ },
		      { "atomic", EXPLAIN_ATOMIC },   { "ud", EXPLAIN_UD },
		      { "first", EXPLAIN_FIRST },     { "xrc", EXPLAIN_XRC },
		      { "bind", EXPLAIN_BIND },       { "invalidate", EXPLAIN_INVALIDATE } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == length && !memcmp(words[i].word, word, length))
			return words[i].limit;
	return 0;
}

const char *explain_cause(const char *line, unsigned int excluded, size_t *ret_length)
{
	unsigned int limits = 0;
	const char *text = line;

	if (*line == '{')
		for (text = line + 1; text[-1] != '}';) {
			size_t n = strcspn(text, " }");

			limits |= find_limit(text, n);
			text += n + 1;
		}
	text += strspn(text, " ");
	*ret_length = strcspn(text, "\n");
	return limits && !(limits & ~excluded) ? NULL : text;
}

const struct explanation *explain_status(int status)
{
	return find_row(statuses, STATUS_ROWS, "ibv_wc_status", status);
}

const struct explanation *explain_event(int type)
{
	return find_row(events, EVENT_ROWS, "ibv_event_type", type);
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word), n;

	for (; *list; list += n + !!list[n]) {
		n = strcspn(list, " ");
		if (n == length && !memcmp(list, word, n))
			return true;
	}
	return false;
}

static const struct explanation *find_errno(const char *verb, const char *error)
{
	for (int i = 0; i < ERRNO_ROWS; i++)
		if (has_word(errnos[i].verbs, verb) && has_word(errnos[i].errnos, error))
			return &errnos[i].explanation;
	return NULL;
}

/*
 * The class of verbs that have the same errnos. ibv_close_device() and the destroy calls of
 * librdmacm have other errnos.
 */
static const char *name_class(const struct verb_info *info)
{
	if (info->effect == EFFECT_CREATE)
		return "create";
	if (info->effect == EFFECT_DESTROY && info->via != VIA_CM && info->object != OBJECT_context)
		return "destroy";
	return "any";
}

const struct explanation *explain_errno(enum verb verb, int error)
{
	const struct verb_info *info = &verb_infos[verb];
	const char *name = strerrorname_np(error);
	const struct explanation *found;

	if (!name)
		return NULL;
	found = find_errno(info->name, name);
	if (found || info->plane == PLANE_DATA || info->fail == FAIL_NEVER || !info->returns)
		return found;
	found = find_errno(name_class(info), name);
	return found ? found : find_errno("any", name);
}

bool explain_has_own(enum verb verb, int error)
{
	const char *name = strerrorname_np(error);

	return name && find_errno(verb_infos[verb].name, name);
}

/* @text as a number, or -1. */
static int read_number(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && number < ERRNOS ? (int)number : -1;
}

static int find_value(const char *info_name, const char *prefix, const char *name)
{
	const struct enum_info *info = enum_find(info_name);
	int number = read_number(name);

	if (number >= 0)
		return enum_name(info, number) ? number : -1;
	for (unsigned int i = 0; i < info->nvalues; i++) {
		const char *full = info->values[i].name;

		if (!strcasecmp(full, name) || !strcasecmp(full + strlen(prefix), name))
			return (int)info->values[i].value;
	}
	return -1;
}

int explain_find_status(const char *name)
{
	return find_value("ibv_wc_status", "IBV_WC_", name);
}

int explain_find_event(const char *name)
{
	return find_value("ibv_event_type", "IBV_EVENT_", name);
}

int explain_find_errno(const char *name)
{
	int number = read_number(name);

	if (number >= 0)
		return number && strerrorname_np(number) ? number : -1;
	if (!strcasecmp(name, "ENOTSUP"))
		return EOPNOTSUPP;
	if (!strcasecmp(name, "EWOULDBLOCK"))
		return EAGAIN;
	for (int i = 1; i < ERRNOS; i++)
		if (strerrorname_np(i) && !strcasecmp(strerrorname_np(i), name))
			return i;
	return -1;
}
