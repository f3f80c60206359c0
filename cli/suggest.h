#pragma once
/*
 * "Did you mean ...?": finds the name that is most similar to a mistyped word. Not thread-safe.
 */
enum { SUGGEST_MAX = 40 }; /* longest name */

struct suggestion {
	const char *word;           /* as it was typed */
	const char *prefix;         /* prefix of each name: "--"; NULL: none */
	char name[SUGGEST_MAX + 1]; /* the nearest so far; "" if none is similar */
	unsigned int distance;      /* its distance */
	char folder[128];           /* of suggest_file() */
	char text[SUGGEST_MAX + 168];
};

/* Offer a valid name; a longer one than SUGGEST_MAX is never suggested. */
void suggest_name(struct suggestion *s, const char *name);

/* Offer the files in the folder of @path, which does not exist: @s needs no word. */
void suggest_file(struct suggestion *s, const char *path);

/* The same for a program: without a folder in its name, the files in PATH. */
void suggest_program(struct suggestion *s, const char *program);

/* " (did you mean 'record'?)", or "" if no name is similar. Valid as long as @s. */
const char *suggest_text(struct suggestion *s);
