/*
 * The value of an option: read, checked and stored by the type of its row
 *
 * Not here: where the value comes from (options.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/quantity.h"
#include "cli/suggest.h"
#include "core/base/size.h"

static bool is_within(const struct option_row *row, uint64_t value)
{
	return value >= row->least && (!row->most || value <= row->most);
}

static bool store_number(const struct option_row *row, const char *text, void *field)
{
	uint64_t number;

	if (!quantity_number(text, UINT32_MAX, &number) || !is_within(row, number))
		return false;
	*(uint32_t *)field = (uint32_t)number;
	return true;
}

static bool store_size(const struct option_row *row, const char *text, void *field)
{
	uint64_t bytes = size_parse(text);

	if (!bytes || !is_within(row, bytes))
		return false;
	*(uint64_t *)field = bytes;
	return true;
}

static bool takes_seconds(const struct option_row *row)
{
	return !strcmp(row->arg, "SECONDS");
}

static bool store_time(const struct option_row *row, const char *text, void *field)
{
	bool seconds = takes_seconds(row) || !strcmp(text, "0");
	int64_t ns;

	if (!quantity_time(text, seconds, &ns) || !is_within(row, (uint64_t)ns))
		return false;
	*(int64_t *)field = ns;
	return true;
}

static bool store_choice(const struct option_row *row, const char *text, void *field)
{
	unsigned int place = (unsigned int)row->least;

	for (const char *at = row->arg; *at; place++) {
		size_t n = strcspn(at, "|");

		if (strlen(text) == n && !strncmp(at, text, n)) {
			*(unsigned int *)field = place;
			return true;
		}
		at += n + (at[n] == '|');
	}
	return false;
}

/* "-" stands for standard output if that is the default. */
static const char *choose_text(const struct option_row *row, const char *text)
{
	bool stdout_is_default =
		row->otherwise && !strncmp(row->otherwise, OPTIONS_STDOUT, strlen(OPTIONS_STDOUT));

	return stdout_is_default && !strcmp(text, "-") ? NULL : text;
}

static bool store_value(const struct option_row *row, const char *text, void *field)
{
	switch (row->type) {
	case OPTION_NUMBER:
		return store_number(row, text, field);
	case OPTION_SIZE:
		return store_size(row, text, field);
	case OPTION_TIME:
		return store_time(row, text, field);
	case OPTION_CHOICE:
		return store_choice(row, text, field);
	case OPTION_TEXT:
		*(const char **)field = choose_text(row, text);
		return true;
	case OPTION_FLAG:
		*(bool *)field = true;
		return true;
	case OPTION_VALUE:
		*(unsigned int *)field = (unsigned int)row->least;
		return true;
	default:
		return false;
	}
}

/* "text or json", "none, hash, N or full"; and the allowed word most similar to @text. */
static void describe_choice(const char *arg, const char *text, char *what, size_t size)
{
	struct suggestion near = { .word = text };
	char words[128], *rest = NULL;
	size_t used = 0;

	snprintf(words, sizeof(words), "%s", arg);
	for (char *word = strtok_r(words, "|", &rest); word && used < size;
	     word = strtok_r(NULL, "|", &rest)) {
		used += (size_t)snprintf(what + used, size - used, "%s%s",
					 !used   ? ""
					 : *rest ? ", "
						 : " or ",
					 word);
		suggest_name(&near, word);
	}
}

/* Describe the values that are allowed. */
static void describe_value(const struct option_row *row, const char *text, char *what, size_t size)
{
	char limits[OPTIONS_LIMITS];
	const char *kind = "";

	switch (row->type) {
	case OPTION_NUMBER:
		kind = row->least == 1 && !row->most ? "a number from 1 on" : "a number";
		break;
	case OPTION_SIZE:
		kind = "a size such as 4M";
		break;
	case OPTION_TIME:
		kind = takes_seconds(row) ? "a time in seconds, or such as 490ms, 30s or 5m"
					  : "a time such as 490ms, 30s, 5m or 1h";
		break;
	default:
		describe_choice(row->arg, text, what, size);
		return;
	}
	options_limits(row, limits);
	snprintf(what, size, "%s%s%s", kind, *limits ? ", " : "", limits);
}

/* "'noon' is not a time" becomes "--from: 'noon' is not a time". */
static void name_option(const struct option_row *row, char complaint[OPTIONS_COMPLAINT])
{
	char text[OPTIONS_COMPLAINT];

	snprintf(text, sizeof(text), "%s", complaint);
	snprintf(complaint, OPTIONS_COMPLAINT, "--%s: %.*s", row->name,
		 (int)(OPTIONS_COMPLAINT - strlen(row->name) - sizeof("--: ")), text);
}

int options_store(const struct option_row *row, const char *text, void *settings,
		  char complaint[OPTIONS_COMPLAINT])
{
	void *field = (char *)settings + row->at;
	char what[160];

	complaint[0] = '\0';
	if (row->type == OPTION_PARSED ? !row->parse(text, field, complaint)
				       : store_value(row, text, field))
		return 0;
	if (complaint[0] == '\'') /* the complaint begins with the value: add the option's name */
		name_option(row, complaint);
	if (complaint[0])
		return -EINVAL;
	describe_value(row, text, what, sizeof(what));
	snprintf(complaint, OPTIONS_COMPLAINT, "--%s is %s, not '%.60s'", row->name, what, text);
	return -EINVAL;
}

static const char *limit_text(const struct option_row *row, uint64_t limit,
			      char text[QUANTITY_TEXT])
{
	if (row->type == OPTION_SIZE)
		return quantity_size_text(limit, text);
	if (row->type == OPTION_TIME)
		return quantity_time_text((int64_t)limit, text);
	snprintf(text, QUANTITY_TEXT, "%llu", (unsigned long long)limit);
	return text;
}

const char *options_limits(const struct option_row *row, char text[OPTIONS_LIMITS])
{
	char least[QUANTITY_TEXT], most[QUANTITY_TEXT];

	text[0] = '\0';
	if (row->type == OPTION_CHOICE || row->type == OPTION_VALUE)
		return text;
	limit_text(row, row->least, least);
	limit_text(row, row->most, most);
	if (row->least && row->most)
		snprintf(text, OPTIONS_LIMITS, "%s to %s", least, most);
	else if (row->least > 1) /* a minimum of 1 is obvious */
		snprintf(text, OPTIONS_LIMITS, "at least %s", least);
	else if (row->most)
		snprintf(text, OPTIONS_LIMITS, "at most %s", most);
	return text;
}

const char *options_default(const struct option_row *row)
{
	return row->preset ? row->preset : row->otherwise;
}
