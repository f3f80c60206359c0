/*
 * verbatim doctor: functions with which its checks read the machine's files and report findings
 */
#include "cli/doctor/doctor.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/vec.h"

void doctor_report(struct doctor *doctor, enum verdict verdict, const char *remedy,
		   const char *format, ...)
{
	struct finding *found = vec_push(doctor->findings, doctor->nfindings);
	va_list args;

	if (!found)
		abort(); /* only out of memory, at the start of a command */
	*found = (struct finding){ verdict, doctor->check, NULL, remedy };
	va_start(args, format);
	if (vasprintf(&found->text, format, args) < 0)
		abort();
	va_end(args);
}

size_t doctor_count(const struct doctor *doctor, enum verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < doctor->nfindings; i++)
		n += doctor->findings[i].verdict == verdict;
	return n;
}

void doctor_fini(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nfindings; i++)
		free(doctor->findings[i].text);
	free(doctor->findings);
}

void doctor_path(const struct doctor *doctor, char path[PATH_MAX], const char *format, ...)
{
	int n = snprintf(path, PATH_MAX, "%s", doctor->root);
	va_list args;

	va_start(args, format);
	vsnprintf(path + n, (size_t)(PATH_MAX - n), format, args);
	va_end(args);
}

bool doctor_read_line(const struct doctor *doctor, const char *name, char *line, size_t size)
{
	char path[PATH_MAX];
	FILE *file;
	bool got;

	doctor_path(doctor, path, "%s", name);
	file = fopen(path, "re");
	got = file && fgets(line, (int)size, file);
	if (file)
		fclose(file);
	line[got ? strcspn(line, "\n") : 0] = '\0';
	return got;
}

bool doctor_has(const struct doctor *doctor, const char *name)
{
	char path[PATH_MAX];

	doctor_path(doctor, path, "%s", name);
	return !access(path, F_OK);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

unsigned int doctor_each(struct doctor *doctor, const char *folder, doctor_entry *entry)
{
	struct dirent **names;
	char path[PATH_MAX];
	int n;

	doctor_path(doctor, path, "%s", folder);
	n = scandir(path, &names, is_visible, alphasort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		if (entry)
			entry(doctor, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return (unsigned int)n;
}
