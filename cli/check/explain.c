/*
 * verbatim explain: what a rule, a status, an event or an errno means, why, and what to do
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "analyzer/report/report.h"
#include "analyzer/report/wrap.h"
#include "cli/check/topic.h"
#include "cli/cli.h"
#include "cli/suggest.h"
#include "core/wire/log.h"

enum { TITLE = 13, CAUSE = 16 };

struct settings {
	bool markdown;
	unsigned int json;
};

const struct option_row cli_explain_options[] = {
	CLI_FORMAT(struct settings),
	{ "markdown", 0, NULL, "print all rules in Markdown, for RULES.md",
	  FLAG_AT(struct settings, markdown) },
	{ 0 },
};

static void print_field(const char *title, const char *text)
{
	wrap_text(stdout, printf("%-*s", TITLE, title), TITLE, text);
}

/* Print each line of @lines as an entry of its own, numbered if there are several. */
static void print_lines(const char *title, const char *lines, bool number)
{
	char line[1024];
	size_t n;

	for (int i = 1; *lines; i++, lines += n + !!lines[n]) {
		int column = printf("%-*s", TITLE, i == 1 ? title : "");

		const char *text = explain_cause(lines, 0, &n);

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		n += (size_t)(text - lines);
		if (!number) {
			printf("%s\n", line);
			continue;
		}
		column += printf("%d. ", i);
		wrap_text(stdout, column, CAUSE, line);
	}
}

static void print_explanation(const struct explanation *e)
{
	putchar('\n');
	if (e->side)
		print_field("which end", e->side);
	print_field("what", e->means);
	print_lines("causes", e->causes, true);
	print_lines("look at", e->look, false);
	print_field("source", e->source);
}

static void print_number(const char *kind, const char *info, int number,
			 const struct explanation *e)
{
	printf("%s (%d), %s\n", enum_name(enum_find(info), number), number, kind);
	print_explanation(e);
}

static void print_errno(enum verb verb, int error, const struct explanation *e)
{
	printf("%s() with %s (%d, %s)\n", verb_infos[verb].name, strerrorname_np(error), error,
	       strerror(error));
	print_explanation(e);
}

static void list_errnos(enum verb verb, bool own)
{
	for (int error = 1; error < EXPLAIN_ERRNOS; error++) {
		const struct explanation *e = explain_errno(verb, error);

		if (e && explain_has_own(verb, error) == own)
			wrap_text(stdout, printf("%-*s", TITLE, strerrorname_np(error)), TITLE,
				  e->means);
	}
}

/* Print what is known of one verb: its own errnos, then those of verbs like it. */
static void print_verb(enum verb verb)
{
	const char *name = verb_infos[verb].name;

	if (!topic_has_errnos(verb, false)) {
		printf("%s() has no errnos to explain%s\n", name,
		       verb_infos[verb].via == VIA_QPX ? ": ibv_wr_complete() reports them" : "");
		return;
	}
	printf("%s(): `verbatim explain %s ERRNO` tells more\n\n", name, name);
	list_errnos(verb, true);
	list_errnos(verb, false);
}

static void list_enum(const char *title, const char *info_name)
{
	const struct enum_info *info = enum_find(info_name);

	printf("\n%s:\n", title);
	for (unsigned int i = 0; i < info->nvalues; i++)
		printf("  %3d  %s\n", (int)info->values[i].value, info->values[i].name);
}

static void list_topics(void)
{
	report_rules(stdout);
	list_enum("completion statuses", "ibv_wc_status");
	list_enum("asynchronous events", "ibv_event_type");
	printf("\nverbs, with an errno (ibv_reg_mr ENOMEM) or without:\n");
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (topic_has_errnos((enum verb)verb, true))
			printf("       %s\n", verb_infos[verb].name);
}

static void suggest_enum(struct suggestion *near, const char *info_name)
{
	const struct enum_info *info = enum_find(info_name);

	for (unsigned int i = 0; i < info->nvalues; i++)
		suggest_name(near, info->values[i].name);
}

static int refuse_topic(const char *command, const char *name)
{
	struct suggestion near = { .word = name };

	for (int i = 0; i < RULE_COUNT; i++) {
		suggest_name(&near, rules[i].id);
		suggest_name(&near, rules[i].name);
	}
	suggest_enum(&near, "ibv_wc_status");
	suggest_enum(&near, "ibv_event_type");
	for (int verb = 0; verb < VERB_COUNT; verb++)
		suggest_name(&near, verb_infos[verb].name);
	for (int error = 1; error < EXPLAIN_ERRNOS; error++)
		if (strerrorname_np(error))
			suggest_name(&near, strerrorname_np(error));
	if (explain_find_errno(name) > 0)
		return cli_misuse(command, "also give the verb that returned %s", name);
	return cli_misuse(command,
			  "no rule, status, event, verb or errno is named '%s'%s; `verbatim "
			  "explain` lists all",
			  name, suggest_text(&near));
}

/*
 * Find a verb, and the errno after it, if any. Returns the number of arguments used; -1: the verb
 * is not known to report that errno.
 */
static int find_verb(enum verb verb, const char *next, struct topic *topic)
{
	int error = next && verb_find(next) < 0 ? explain_find_errno(next) : -1;

	*topic = (struct topic){ .kind = TOPIC_VERB, .verb = verb };
	if (error < 0)
		return 1;
	*topic = (struct topic){ .kind = TOPIC_ERRNO, .verb = verb, .number = error };
	return explain_errno(verb, error) ? 2 : -1;
}

/* Find the topic at @at. Returns the number of arguments used; 0: no topic; -1: as find_verb(). */
static int find_topic(char **at, struct topic *topic)
{
	int rule = rule_find(at[0]), verb = verb_find(at[0]);
	int status = explain_find_status(at[0]), event = explain_find_event(at[0]);

	if (rule >= 0)
		*topic = (struct topic){ .kind = TOPIC_RULE, .number = rule };
	else if (status >= 0)
		*topic = (struct topic){ .kind = TOPIC_STATUS, .number = status };
	else if (event >= 0)
		*topic = (struct topic){ .kind = TOPIC_EVENT, .number = event };
	else if (verb >= 0)
		return find_verb((enum verb)verb, at[1], topic);
	else
		return 0;
	return 1;
}

static void print_topic(const struct topic *topic, const char *word)
{
	int number = topic->number;

	switch (topic->kind) {
	case TOPIC_RULE:
		report_rule(stdout, (enum rule_id)number);
		break;
	case TOPIC_STATUS:
		print_number("completion status", "ibv_wc_status", number, explain_status(number));
		if (explain_find_event(word) >= 0) /* a number */
			printf("\nas the number of an asynchronous event: %s\n",
			       enum_name(enum_find("ibv_event_type"), explain_find_event(word)));
		break;
	case TOPIC_EVENT:
		print_number("asynchronous event", "ibv_event_type", number, explain_event(number));
		break;
	case TOPIC_VERB:
		print_verb(topic->verb);
		break;
	case TOPIC_ERRNO:
		print_errno(topic->verb, number, explain_errno(topic->verb, number));
	}
}

/* Explain each argument, as JSON into @json or as text. Returns the exit status. */
static int explain_each(const char *command, const struct arguments *arguments, struct json *json)
{
	for (int i = 0, n; i < arguments->n; i += n) {
		struct topic topic;

		n = find_topic(&arguments->at[i], &topic);
		if (!n)
			return refuse_topic(command, arguments->at[i]);
		if (n < 0)
			return cli_misuse(
				command,
				"%s has no entry for %s; 'verbatim explain %s' lists its errnos",
				arguments->at[i], arguments->at[i + 1], arguments->at[i]);
		if (json) {
			topic_put(json, &topic);
			continue;
		}
		if (i > 0)
			putchar('\n');
		print_topic(&topic, arguments->at[i]);
	}
	return CLI_FINE;
}

static int explain_in_json(const char *command, const struct arguments *arguments)
{
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };
	int status = CLI_FINE;

	json_open(&json, NULL, '{');
	json_open(&json, "topics", '[');
	if (arguments->n)
		status = explain_each(command, arguments, &json);
	else
		topic_put_all(&json);
	json_close(&json, ']');
	json_close(&json, '}');
	if (!status && text.failed)
		status = cli_status(log_err(-ENOMEM, "explain"));
	if (!status)
		puts(text.at);
	text_fini(&text);
	return status;
}

int cli_explain(int argc, char **argv)
{
	struct settings set = { false };
	struct arguments arguments;

	cli_parse(argc, argv, &set, &arguments);
	if (set.json)
		return explain_in_json(argv[0], &arguments);
	for (int i = 0; set.markdown && i < RULE_COUNT; i++)
		report_markdown(stdout, (enum rule_id)i);
	if (!arguments.n && !set.markdown)
		list_topics();
	return explain_each(argv[0], &arguments, NULL);
}
