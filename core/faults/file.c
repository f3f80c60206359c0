/*
 * Reading a faults file, line by line
 */
#include "core/faults/file.h"

#include <errno.h>
#include <string.h>

static int read_line(const struct faults_reader *reader, char *text, unsigned int line)
{
	struct fault_rule rule;
	const char *why = NULL;
	int got = fault_parse(text, &rule, &why);

	if (got > 0)
		why = fault_unsuited(&rule, reader->maker);
	if (got < 0 || (got > 0 && why))
		return reader->wrong(reader->context, line, why);
	rule.line = line;
	return got && reader->rule ? reader->rule(reader->context, &rule) : 0;
}

/* The rest of a line that is too long. */
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
