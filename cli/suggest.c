/*
 * "Did you mean ...?"
 *
 * The distance of two words is the least number of letters to insert, delete,
 * replace or exchange with their neighbour that makes one from the other (the
 * optimal string alignment distance of Damerau and Levenshtein). A third of a
 * word's letters may be wrong.
 */
#include "cli/suggest.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int least_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static unsigned int word_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned int cost[SUGGEST_MAX + 1][SUGGEST_MAX + 1];

	if (na > SUGGEST_MAX || nb > SUGGEST_MAX)
		return SUGGEST_MAX;
	for (size_t i = 0; i <= na; i++)
		for (size_t k = 0; k <= nb; k++) {
			unsigned int *at = &cost[i][k];

			if (!i || !k) {
				*at = (unsigned int)(i + k);
				continue;
			}
			*at = least_of(cost[i - 1][k], cost[i][k - 1]) + 1;
			*at = least_of(*at, cost[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				*at = least_of(*at, cost[i - 2][k - 2] + 1);
		}
	return cost[na][nb];
}

void suggest_name(struct suggestion *s, const char *name)
{
	unsigned int distance = word_distance(s->word, name);

	if (strlen(name) > SUGGEST_MAX)
		return;
	if (distance > (strlen(name) + 1) / 3 || (*s->name && distance >= s->distance))
		return;
	strcpy(s->name, name);
	s->distance = distance;
}

/* Is @word @name without its suffix ("t" for "t.db")? Then more than a third may be missing. */
static bool lacks_suffix(const char *word, const char *name)
{
	size_t n = strlen(word);

	return n && !strncmp(word, name, n) && !strcmp(name + n, ".db");
}

void suggest_file(struct suggestion *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	struct dirent *entry;
	DIR *dir;

	s->word = path + n;
	if (n >= sizeof(s->folder))
		return;
	snprintf(s->folder, sizeof(s->folder), "%.*s", (int)n, path);
	s->prefix = s->folder;
	dir = opendir(n ? s->folder : ".");
	while (dir && (entry = readdir(dir)) != NULL) {
		if (lacks_suffix(s->word, entry->d_name) && strlen(entry->d_name) <= SUGGEST_MAX) {
			strcpy(s->name, entry->d_name);
			break;
		}
		suggest_name(s, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static void suggest_files_of(struct suggestion *s, const char *folder)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir)) != NULL)
		suggest_name(s, entry->d_name);
	if (dir)
		closedir(dir);
}

void suggest_program(struct suggestion *s, const char *program)
{
	const char *at = getenv("PATH");

	if (strchr(program, '/')) {
		suggest_file(s, program);
		return;
	}
	s->word = program;
	while (at && *at) {
		size_t n = strcspn(at, ":");
		char folder[PATH_MAX];

		if (n && n < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)n, at);
			suggest_files_of(s, folder);
		}
		at += n + (at[n] == ':');
	}
}

const char *suggest_text(struct suggestion *s)
{
	s->text[0] = '\0';
	if (*s->name)
		snprintf(s->text, sizeof(s->text), " (did you mean '%s%s'?)",
			 s->prefix ? s->prefix : "", s->name);
	return s->text;
}
