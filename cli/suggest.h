#pragma once
/*
 * "Did you mean ...?": the name that a mistyped word is nearest to. One thread.
 */
enum { SUGGEST_MAX = 40 }; /* letters of a name */

struct suggestion {
	const char *word;           /* as it was typed */
	const char *prefix;         /* what stands before each name: "--"; NULL: nothing */
	char name[SUGGEST_MAX + 1]; /* the nearest so far; "" if none is near */
	unsigned int distance;      /* its distance */
	char text[SUGGEST_MAX + 40];
};

/* Offer a name that would have been right. */
void suggest_name(struct suggestion *s, const char *name);

/* " (did you mean 'record'?)", or "" where no name was near. Valid as long as @s. */
const char *suggest_text(struct suggestion *s);
