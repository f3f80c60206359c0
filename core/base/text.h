#pragma once
/*
 * A growing text. All zero: empty. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *at; /* terminated by 0; NULL as long as the text is empty */
	size_t used, size;
	bool failed; /* out of memory: the text must not be used */
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_number(struct text *text, int64_t number); /* in decimal */
void text_unsigned(struct text *text, uint64_t number);
void text_cut(struct text *text, size_t used);

/*
 * Space for @n bytes at the end, which the caller writes, and then adds to text->used; NULL if out
 * of memory. The next text_add() terminates the text.
 */
char *text_space(struct text *text, size_t n);
void text_fini(struct text *text);

static inline void text_char(struct text *text, char c)
{
	if (__builtin_expect(text->used + 1 < text->size, 1)) {
		text->at[text->used++] = c;
		text->at[text->used] = '\0';
		return;
	}
	text_add(text, &c, 1);
}

/*
 * Add the bytes as a quoted JSON string; bytes that are not UTF-8 become \u00XX, and characters
 * that are not printable (core/base/printable.h) are escaped, too.
 */
void text_json(struct text *text, const char *bytes, size_t n);

/* Add the result of printable_text() for @from, foreign text (core/base/printable.h). */
void text_printable(struct text *text, const char *from);
