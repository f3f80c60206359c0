#pragma once
/*
 * The statements of the C program: the events of each recorded thread in their order.
 *
 * A statement is a text of C with slots, and the numbers for these: two that differ only in numbers
 * have one text, and may be iterations of one loop (loops.h). Not thread-safe.
 *
 * A slot is SLOT and a letter, the numbers come in the order of the slots:
 *
 * 	d  decimal	x  hexadecimal	o  the offset of an address: " + 64", nothing for 0
 * 	n  the event's name, a text; no number
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/text.h"

#define SLOT "\1"

/* In a text, with the number of an object: lines that store numbers of it (struct listing). */
#define OBJECT_KEPT      "\2"
#define OBJECT_KEPT_SLOT OBJECT_KEPT "%u;"

/*
 * In a phrase, with the index of an object and a ';': the name before it is that of an array, and
 * the index becomes a slot.
 */
#define INDEX "\3"

struct statement {
	uint32_t text; /* of struct texts */
	/* the counter that it increments, or waits for, from 1; 0: none (order.h) */
	uint32_t counter;
	uint32_t ordinal; /* the event's number among those that increment the counter */
	uint32_t nvalues;
	size_t first;    /* index of its first value among those of the script */
	uint64_t n;      /* of the event T:N */
	uint32_t coming; /* for a wait: the text of the event after it */
	bool event;      /* it is the event itself, not a wait before it */
	/* a completion that its thread waits for; of this queue pair, 0: not known */
	bool completion;
	bool receive, failed; /* its side; an error has none */
	uint32_t qp;
};

/* Each distinct text once, from 1. */
struct texts {
	char **at;
	size_t n, bytes;
	struct map by_hash;
	char **raw; /* the phrases before their lines were filled */
	size_t nraw;
	/* for each of these phrases, the number of the text with its lines filled */
	uint32_t *filled;
	size_t nfilled;
	struct map raw_by_hash;
};

/* The last statements of a recorded thread; those before them are in its loops (order_end()). */
struct script {
	struct statement *at;
	size_t n, size;
	int64_t *values;
	size_t nvalues, values_size;
	uint64_t added; /* since the beginning */
};

/* A statement under construction. */
struct phrase {
	bool ignored; /* nothing is */
	uint32_t nvalues;
	struct text text;
	int64_t values[512];
};

/* C text; a slot and its number. If a number does not fit, it is written as text. */
void phrase_addf(struct phrase *phrase, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void phrase_number(struct phrase *phrase, char letter, int64_t value);
void phrase_cut(struct phrase *phrase);
void phrase_fini(struct phrase *phrase);

/* The number of @text, or 0 if out of memory. */
uint32_t texts_number(struct texts *texts, const char *text);
void texts_fini(struct texts *texts);

/* Add the statement in @phrase, and empty @phrase. 0 or -ENOMEM. */
int script_add(struct script *script, struct texts *texts, struct phrase *phrase, uint64_t n,
	       bool event);

/* Drop the first @n statements. */
void script_drop(struct script *script, size_t n);
void script_fini(struct script *script);
