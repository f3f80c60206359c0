/*
 * Writes JSON
 */
#include "core/base/json.h"

#include <string.h>

/*
 * Add the comma before the next value. @blank: then a blank, unless the value goes on a new line.
 */
static void put_comma(struct json *json, bool blank)
{
	if (!json->comma)
		return;
	text_char(json->out, ',');
	if (blank)
		text_char(json->out, ' ');
	json->comma = false;
}

void json_put_name(struct json *json, const char *name)
{
	put_comma(json, json->spaced);
	json->comma = true;
	if (!name)
		return;
	text_json(json->out, name, strlen(name));
	text_add(json->out, ": ", json->spaced ? 2 : 1);
}

void json_put_line(struct json *json, unsigned int indent)
{
	put_comma(json, false);
	text_addf(json->out, "\n%*s", (int)indent, "");
}

void json_open(struct json *json, const char *name, char bracket)
{
	json_put_name(json, name);
	text_char(json->out, bracket);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	text_char(json->out, bracket);
	json->comma = true;
}

void json_put_text(struct json *json, const char *name, const char *text)
{
	json_put_name(json, name);
	if (text)
		text_json(json->out, text, strlen(text));
	else
		text_add(json->out, "null", 4);
}

void json_put_int(struct json *json, const char *name, int64_t value)
{
	json_put_name(json, name);
	text_number(json->out, value);
}

void json_put_uint(struct json *json, const char *name, uint64_t value)
{
	json_put_name(json, name);
	text_unsigned(json->out, value);
}

void json_put_bool(struct json *json, const char *name, bool value)
{
	json_put_name(json, name);
	text_add(json->out, value ? "true" : "false", value ? 4 : 5);
}
