/*
 * Names in the C program
 */
#include "cli/emit/names.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>

char *names_decimal(char *at, uint32_t number)
{
	if (number >= 10)
		at = names_decimal(at, number / 10);
	*at = (char)('0' + number % 10);
	return at + 1;
}

static void add_ordinal(const struct program *program, const struct object *o, char *text)
{
	char *at = text;

	if (program->shared) {
		*at++ = 'p';
		at = names_decimal(at, o->process);
		*at++ = '_';
	}
	at = stpcpy(at, object_names[o->kind]);
	if (program->objects[o->id].array)
		*at++ = *INDEX;
	at = names_decimal(at, o->ordinal);
	if (program->objects[o->id].array)
		*at++ = ';';
	*at = '\0';
}

const char *names_variable(const struct program *program, uint32_t object, char text[NAME_TEXT])
{
	const struct object *o = trace_object(program->trace, object);

	if (!o)
		snprintf(text, NAME_TEXT, "NULL");
	else
		add_ordinal(program, o, text);
	return text;
}

void names_strip(char *text)
{
	char *index = strchr(text, *INDEX), *rest = index ? strchr(index, ';') : NULL;

	if (rest)
		memmove(index, rest + 1, strlen(rest));
}

void names_add_handle(struct program *program, struct text *text, uint32_t object)
{
	char name[NAME_TEXT];
	bool cast = object && program->objects[object].ex;

	if (object)
		program->objects[object].used = true;
	names_variable(program, object, name);
	if (cast)
		text_addf(text, "ibv_cq_ex_to_cq(%s)", name);
	else
		text_add(text, name, strlen(name));
}

void names_add_enum(struct text *text, const struct enum_info *info, int64_t value)
{
	const char *name = info ? enum_name(info, value) : NULL;

	if (name)
		text_add(text, name, strlen(name));
	else
		text_addf(text, "%" PRId64, value);
}

void names_add_flags(struct text *text, const struct enum_info *info, int64_t value)
{
	uint64_t left = (uint64_t)value;
	bool first = true;

	for (unsigned int i = 0; info && i < info->nvalues && left; i++) {
		uint64_t bit = (uint64_t)info->values[i].value;

		if (!bit || bit & (bit - 1) || !(left & bit))
			continue;
		text_addf(text, first ? "%s" : " |\n\t%s", info->values[i].name);
		left &= ~bit;
		first = false;
	}
	if (left || first)
		text_addf(text, left ? first ? "0x%" PRIx64 : " | 0x%" PRIx64 : "%" PRIu64, left);
}

void names_add_errno(struct text *text, int64_t error)
{
	int64_t size = error < 0 ? -error : error;
	const char *name = size > 0 && size < 4096 ? strerrorname_np((int)size) : NULL;

	if (!error)
		text_char(text, '0');
	else if (name)
		text_addf(text, error < 0 ? "-%s" : "%s", name);
	else
		text_addf(text, "%" PRId64, error);
}

void names_add_comment(struct text *text, const char *foreign)
{
	char last = 0;

	for (; foreign && *foreign; last = *foreign++) {
		unsigned char c = (unsigned char)*foreign;

		if (c < ' ' || c > '~' || c == '\\')
			text_addf(text, "\\x%02x", c);
		else if ((c == '/' && last == '*') || (c == '*' && last == '/') ||
			 (c == '?' && last == '?'))
			text_addf(text, " %c", c);
		else
			text_char(text, (char)c);
	}
}

void names_add_string(struct text *text, const char *foreign)
{
	for (; foreign && *foreign; foreign++) {
		unsigned char c = (unsigned char)*foreign;

		if (c < ' ' || c > '~')
			text_addf(text, "\\%03o", c);
		else if (c == '"' || c == '\\' || c == '?')
			text_addf(text, "\\%c", c);
		else
			text_char(text, (char)c);
	}
}

void names_add_thread(struct text *text, uint32_t thread)
{
	char id[32];

	event_id_text((struct event_id){ thread, 1 }, id);
	*strrchr(id, ':') = '\0';
	names_add_string(text, id);
}
