/*
 * The user's defaults for options
 *
 * The file is read into memory and split into names and values. Lines before the first section
 * apply to all commands; lines of a command's section come later in its list, so they have
 * precedence.
 */
#include "cli/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/suggest.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"

#define BLANKS " \t\r"

struct config {
	char *path, *text;
	const struct command *command;
	struct option_default *lines; /* the last has no name */
	size_t n, size;
	unsigned int line;             /* being read */
	const struct command *section; /* NULL: all commands */
	char *complaint;
};

static int __attribute__((format(printf, 2, 3)))
refuse_line(const struct config *config, const char *format, ...)
{
	int n = snprintf(config->complaint, CONFIG_COMPLAINT, "%.300s:%u: ", config->path,
			 config->line);
	va_list args;

	va_start(args, format);
	vsnprintf(config->complaint + n, (size_t)(CONFIG_COMPLAINT - n), format, args);
	va_end(args);
	return -EINVAL;
}

static char *trim_text(char *text)
{
	char *end;

	text += strspn(text, BLANKS);
	end = text + strlen(text);
	while (end > text && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	return text;
}

static bool has_row(const struct option_row *row, const char *name)
{
	for (; row->name; row++)
		if (!strcmp(row->name, name))
			return true;
	return false;
}

static bool is_option(const struct command *command, const char *name)
{
	return has_row(common_options, name) || has_row(command->options, name);
}

static void suggest_rows(struct suggestion *near, const struct option_row *row)
{
	for (; row->name; row++)
		suggest_name(near, row->name);
}

static int refuse_name(const struct config *config, const char *name)
{
	struct suggestion near = { .word = name };

	suggest_rows(&near, common_options);
	for (const struct command *c = commands; c->name; c++)
		if (!config->section || config->section == c)
			suggest_rows(&near, c->options);
	return refuse_line(config, "%s has no option '%.60s'%s",
			   config->section ? config->section->name : "no command: it", name,
			   suggest_text(&near));
}

static bool is_known(const struct config *config, const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if ((!config->section || config->section == c) && is_option(c, name))
			return true;
	return false;
}

static int read_section(struct config *config, char *line)
{
	struct suggestion near = { 0 };
	size_t n = strlen(line);

	if (line[n - 1] != ']')
		return refuse_line(config, "']' is missing after '%.60s'", line);
	line[n - 1] = '\0';
	line = trim_text(line + 1);
	config->section = command_find(line);
	if (config->section)
		return 0;
	near.word = line;
	for (const struct command *c = commands; c->name; c++)
		suggest_name(&near, c->name);
	return refuse_line(config, "there is no command '%.60s'%s", line, suggest_text(&near));
}

static int add_line(struct config *config, const char *name, const char *value)
{
	if (vec_reserve(config->lines, config->size, config->n + 2))
		return -ENOMEM;
	config->lines[config->n++] =
		(struct option_default){ name, value, config->path, config->line };
	config->lines[config->n] = (struct option_default){ 0 };
	return 0;
}

static int read_line(struct config *config, char *line)
{
	char *equals;

	line = trim_text(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line == '[')
		return read_section(config, line);
	equals = strchr(line, '=');
	if (!equals)
		return refuse_line(config, "'%.60s' is not a line 'OPTION = VALUE' or '[COMMAND]'",
				   line);
	*equals = '\0';
	line = trim_text(line);
	if (!strncmp(line, "--", 2))
		line += 2;
	if (!is_known(config, line))
		return refuse_name(config, line);
	if (config->section && config->section != config->command)
		return 0;
	return is_option(config->command, line) ? add_line(config, line, trim_text(equals + 1)) : 0;
}

static int read_lines(struct config *config)
{
	char *rest = config->text;
	int err = 0;

	while (rest && !err) {
		char *line = strsep(&rest, "\n");

		config->line++;
		err = read_line(config, line);
	}
	return err;
}

/* The path of the configuration file. NULL: there is none, or out of memory. */
static char *find_path(bool *ret_named)
{
	const char *named = getenv("VERBATIM_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int n = -1;

	*ret_named = named;
	if (named)
		return *named ? strdup(named) : NULL;
	if (xdg && *xdg == '/') /* a relative one is to be ignored (XDG base directories) */
		n = asprintf(&path, "%s/verbatim/config", xdg);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.config/verbatim/config", home);
	return n < 0 ? NULL : path;
}

static int refuse_file(int err, const char *path, char *complaint)
{
	snprintf(complaint, CONFIG_COMPLAINT, "read the configuration %.300s: %s", path,
		 strerror(-err));
	return err;
}

/*
 * Is the file absent? A file in another user's HOME, which this user cannot read, counts as absent.
 */
static bool is_absent(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EACCES;
}

int config_open(const struct command *command, char complaint[CONFIG_COMPLAINT],
		struct config **ret_config)
{
	struct config *config = calloc(1, sizeof(*config));
	bool named;
	size_t n;
	int err;

	*ret_config = NULL;
	if (!config)
		return refuse_file(-ENOMEM, "", complaint);
	config->command = command;
	config->complaint = complaint;
	config->path = find_path(&named);
	err = config->path ? read_file(config->path, &config->text, &n) : -ENOENT;
	if (!(named && config->path) && is_absent(err)) {
		config_close(config);
		return 0;
	}
	if (!err && strlen(config->text) < n)
		err = -EBADMSG;
	if (err)
		refuse_file(err, config->path, complaint);
	else
		err = read_lines(config);
	if (err) {
		config_close(config);
		return err;
	}
	*ret_config = config;
	return 0;
}

void config_close(struct config *config)
{
	if (!config)
		return;
	free(config->lines);
	free(config->text);
	free(config->path);
	free(config);
}

const struct option_default *config_defaults(const struct config *config)
{
	return config ? config->lines : NULL;
}

const char *config_path(const struct config *config)
{
	return config->path;
}
