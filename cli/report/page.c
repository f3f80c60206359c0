/*
 * The page, put together of its parts
 *
 * 	page/page.html with @@STYLE@@ @@DATA@@ @@SCRIPT@@
 *
 * The data are in a script element of a type that no browser runs. Only "</script" and "<!--" have
 * a meaning in it: '<', which occurs only in JSON strings, is written as \u003c.
 */
#include "cli/report/page.h"

#include <errno.h>
#include <string.h>

#include "cli/report/page_parts.h"
#include "core/wire/log.h"

static void add_data(struct text *out, const struct text *data)
{
	for (size_t i = 0; i < data->used; i++)
		if (data->at[i] == '<')
			text_add(out, "\\u003c", 6);
		else
			text_char(out, data->at[i]);
}

static void add_part(struct text *out, const char *name, size_t n, const struct text *data)
{
	static const struct {
		const char *name, *text;
	} parts[] = { { "STYLE", page_css }, { "SCRIPT", page_js } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strlen(parts[i].name) == n && !memcmp(parts[i].name, name, n))
			text_add(out, parts[i].text, strlen(parts[i].text));
	if (n == 4 && !memcmp(name, "DATA", 4))
		add_data(out, data);
}

int page_write(struct text *out, const struct text *data)
{
	const char *at = page_html, *mark;

	while ((mark = strstr(at, "@@")) != NULL) {
		const char *end = strstr(mark + 2, "@@");

		text_add(out, at, (size_t)(mark - at));
		add_part(out, mark + 2, (size_t)(end - mark - 2), data);
		at = end + 2;
	}
	text_add(out, at, strlen(at));
	return out->failed ? log_err(-ENOMEM, "report") : 0;
}
