/*
 * Reading a faults file, line by line
 */
#include "core/faults/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a line "link process=N loss=1% ..."; NULL: the line is a rule. */
static char *find_link(char *text)
{
	text += strspn(text, " \t");
	if (strncmp(text, "link", 4) || !strchr(" \t\n#", text[4]))
		return NULL;
	text[strcspn(text, "#\n")] = '\0';
	return text + 4;
}

/* @text without "process=N", whose N is stored in *@node; else *@node does not change. */
static char *read_link_process(char *text, int *node)
{
	char *end;
	long n;

	text += strspn(text, " \t");
	if (strncmp(text, "process=", 8))
		return text;
	n = strtol(text + 8, &end, 10);
	if (end == text + 8 || n < 0 || n > UINT16_MAX || !strchr(" \t", *end))
		return text; /* link_model_read() will refuse it */
	*node = (int)n;
	return end;
}

static int read_link(const struct faults_reader *reader, char *parts, unsigned int line)
{
	struct link_model model;
	int node = -1;
	const char *wrong;
	char why[80];

	if (reader->maker != FAULT_BY_DEVICE)
		return reader->wrong(reader->context, line, "only the software device has a link");
	wrong = link_model_read(read_link_process(parts, &node), &model);
	if (!wrong)
		return reader->link ? reader->link(reader->context, &model, node) : 0;
	snprintf(why, sizeof(why), "not a part of a link: '%.40s'", wrong);
	return reader->wrong(reader->context, line, why);
}

static int read_line(const struct faults_reader *reader, char *text, unsigned int line)
{
	char *parts = find_link(text);
	struct fault_rule rule;
	const char *why = NULL;
	int got;

	if (parts)
		return read_link(reader, parts, line);
	got = fault_parse(text, &rule, &why);

	if (got > 0)
		why = fault_why_impossible(&rule, reader->maker);
	if (got < 0 || (got > 0 && why))
		return reader->wrong(reader->context, line, why);
	rule.line = line;
	return got && reader->rule ? reader->rule(reader->context, &rule) : 0;
}

/* Skip the rest of a line that is too long. */
static void skip_rest(FILE *file)
{
	for (int c = getc(file); c != '\n' && c != EOF;)
		c = getc(file);
}

int faults_read(FILE *file, const struct faults_reader *reader)
{
	unsigned int number = 0;
	char line[1024];
	int err = 0;

	while (!err && fgets(line, sizeof(line), file)) {
		number++;
		if (strchr(line, '\n') || feof(file)) {
			err = read_line(reader, line, number);
			continue;
		}
		skip_rest(file);
		err = reader->wrong(reader->context, number, "the line is too long");
	}
	return !err && ferror(file) ? reader->wrong(reader->context, number, "cannot be read")
				    : err;
}
