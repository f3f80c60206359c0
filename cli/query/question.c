/*
 * A question, read from words
 *
 * 	state of qp3 at 3:1042 in process 2
 * 	kind  -  object   at instant   process
 *
 * "at" and "in" may be anywhere after the kind.
 */
#include "cli/query/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/dump/point.h"

enum { WORDS = 32, WORD = 64, TEXT = 512 };

/* The remaining words, and the command for messages. */
struct words {
	char *at[WORDS];
	unsigned int n, next;
	char *complaint;
};

static const struct {
	const char *word, *follows;
} kinds[] = {
#define KIND_ROW(name, word, follows, help) { word, follows },
	EACH_QUESTION(KIND_ROW)
#undef KIND_ROW
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

__attribute__((format(printf, 2, 3))) static int refuse_words(struct words *words,
							      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(words->complaint, QUESTION_COMPLAINT, format, args);
	va_end(args);
	return -EINVAL;
}

static bool is_filler(const char *word)
{
	static const char *const fillers[] = { "what", "which", "who", "is", "are",
					       "was",  "were",  "the", "of", "on",
					       "for",  "a",     "an",  "to", "does" };

	for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
		if (!strcasecmp(word, fillers[i]))
			return true;
	return false;
}

static void split_words(char *text, struct words *words)
{
	char *save = NULL;

	for (char *word = strtok_r(text, " \t\n?", &save); word && words->n < WORDS;
	     word = strtok_r(NULL, " \t\n?", &save))
		if (!is_filler(word))
			words->at[words->n++] = word;
}

static const char *next_word(struct words *words)
{
	return words->next < words->n ? words->at[words->next++] : NULL;
}

/* 17, 0x11 */
static bool read_number(const char *text, uint64_t *ret_number)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(text, &end, 0);
	return !errno && !*end;
}

/* "3:1042", "3:1042[1]", "b.db:3:1042" */
static bool read_event(const char *text, struct event_id *ret_id, uint32_t *ret_index,
		       char trace[QUESTION_TRACE])
{
	char event[WORD], complaint[OPTIONS_COMPLAINT];
	size_t n = text ? strcspn(text, "[") : 0;
	struct point point;
	int whole = 0;

	*ret_index = 0;
	if (!n || n >= WORD ||
	    (text[n] && (sscanf(text + n, "[%" SCNu32 "]%n", ret_index, &whole) < 1 || !whole ||
			 text[n + (size_t)whole])))
		return false;
	snprintf(event, sizeof(event), "%.*s", (int)n, text);
	if (point_read_event(event, &point, complaint))
		return false;
	strcpy(trace, point.trace);
	*ret_id = point.id;
	return true;
}

/* "at 83.6 ms" may be two words. */
static void join_unit(struct words *words, const char *word, char text[WORD])
{
	snprintf(text, WORD, "%s", word);
	if (words->next < words->n &&
	    strspn(words->at[words->next], "numsh") == strlen(words->at[words->next]) &&
	    strspn(word, "0123456789.") == strlen(word))
		snprintf(text, WORD, "%s %s", word, next_word(words));
}

static int read_instant(struct words *words, struct instant *instant)
{
	const char *word = next_word(words);
	char text[WORD] = "", complaint[OPTIONS_COMPLAINT];
	struct point point;

	instant->given = true;
	if (word && !strcasecmp(word, "end"))
		return 0;
	if (word)
		join_unit(words, word, text);
	if (point_read(text, &point, complaint))
		return refuse_words(words,
				    "'%s' is not a point in time: give T:N, a time such as 83.6ms, "
				    "or 'end'",
				    word ?: "at");
	strcpy(instant->trace, point.trace);
	instant->id = point.id;
	if (!point.id.thread)
		instant->time = point.time;
	return 0;
}

/* "process 2", "2", "b.db process 2" */
static int read_process(struct words *words, struct question *question)
{
	const char *word = next_word(words);
	uint64_t number;

	if (word && words->next < words->n && !strcasecmp(words->at[words->next], "process") &&
	    strlen(word) < QUESTION_TRACE) {
		snprintf(question->in, QUESTION_TRACE, "%s", word);
		word = next_word(words);
	}
	if (word && !strcasecmp(word, "process"))
		word = next_word(words);
	if (!read_number(word, &number) || !number || number > UINT32_MAX)
		return refuse_words(words, "'%s' is not a process: give its number in the trace",
				    word ?: "in");
	question->process = (uint32_t)number;
	return 0;
}

/* "0x7f0000001000", "0x7f0000001000+64" */
static int read_range(struct words *words, const char *word, struct question *question)
{
	char text[QUESTION_NAME], *plus;

	snprintf(text, sizeof(text), "%s", word ?: "");
	plus = strchr(text, '+');
	if (plus)
		*plus++ = '\0';
	question->length = 1;
	if (!read_number(text, &question->number) ||
	    (plus && !read_number(plus, &question->length)))
		return refuse_words(words,
				    "'%s' is not an address: give for example 0x7f0000001000, "
				    "with +64 for a range, or 'key 0x8002'",
				    word ?: "covers");
	return 0;
}

static int read_covers(struct words *words, const char *word, struct question *question)
{
	bool key = word && (!strcasecmp(word, "key") || !strcasecmp(word, "lkey") ||
			    !strcasecmp(word, "rkey"));

	if (word && !strcasecmp(word, "address"))
		word = next_word(words);
	if (!key)
		return read_range(words, word, question);
	question->by_key = true;
	word = next_word(words);
	if (!read_number(word, &question->number) || question->number > UINT32_MAX)
		return refuse_words(words, "'%s' is not a key: give its number, such as 0x8002",
				    word ?: "key");
	return 0;
}

static int read_path(struct words *words, const char *word, struct question *question)
{
	if (word && !strcasecmp(word, "wr_id")) {
		question->by_wr_id = true;
		word = next_word(words);
		if (read_number(word, &question->number))
			return 0;
		return refuse_words(words, "'%s' is not a wr_id: give its number", word ?: "wr_id");
	}
	if (word && !strcasecmp(word, "request"))
		word = next_word(words);
	if (read_event(word, &question->id, &question->index, question->trace))
		return 0;
	return refuse_words(words,
			    "'%s' is not an event: give the post as T:N, T:N[1] for its second "
			    "request, or 'wr_id 0x12'",
			    word ?: "path");
}

/* "qp1/2" is "qp1 in process 2". */
static int read_object(struct words *words, const char *word, struct question *question)
{
	struct object_name name;

	if (!word)
		return refuse_words(words, "%s needs%s", kinds[question->kind].word,
				    kinds[question->kind].follows);
	if (!object_name_read(word, &name) ||
	    (question->process && name.process && question->process != name.process))
		return refuse_words(words,
				    "'%s' is not an object: give its name, or for example qp1/2 "
				    "for qp1 of process 2",
				    word);
	strcpy(question->object, name.name);
	if (name.process)
		question->process = name.process;
	if (*name.trace)
		strcpy(question->in, name.trace);
	return 0;
}

static int read_subject(struct words *words, const char *word, struct question *question)
{
	switch (question->kind) {
	case QUESTION_covers:
		return read_covers(words, word, question);
	case QUESTION_path:
		return read_path(words, word, question);
	case QUESTION_registered:
		return word ? refuse_words(words, "unexpected '%s' after 'registered'", word) : 0;
	default:
		return read_object(words, word, question);
	}
}

static int find_kind(struct words *words, enum question_kind *ret_kind)
{
	for (unsigned int i = 0; i < words->n; i++)
		for (int k = 0; k < KINDS; k++)
			if (!strcasecmp(words->at[i], kinds[k].word)) {
				memmove(&words->at[i], &words->at[i + 1],
					(--words->n - i) * sizeof(words->at[0]));
				*ret_kind = (enum question_kind)k;
				return 0;
			}
	return refuse_words(words, "unknown question; " QUESTION_WORDS);
}

/* Remove "at INSTANT" and "in process P", and return the rest. */
static int read_where(struct words *words, struct question *question)
{
	unsigned int left = 0;
	const char *word;
	int err = 0;

	while (!err && (word = next_word(words))) {
		if (!strcasecmp(word, "at") || !strcasecmp(word, "after"))
			err = read_instant(words, &question->at);
		else if (!strcasecmp(word, "in"))
			err = read_process(words, question);
		else if (!strcasecmp(word, "process")) /* "qp1 of process 2" */
			err = read_process(words, question);
		else
			words->at[left++] = (char *)word;
	}
	words->n = left;
	words->next = 0;
	return err;
}

int question_read(const char *text, struct question *ret_question,
		  char complaint[QUESTION_COMPLAINT])
{
	struct words words = { .complaint = complaint };
	char copy[TEXT];
	int err;

	*ret_question = (struct question){ .at.time = INT64_MAX };
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return refuse_words(&words, "the question is too long");
	split_words(copy, &words);
	err = find_kind(&words, &ret_question->kind);
	if (!err)
		err = read_where(&words, ret_question);
	if (!err)
		err = read_subject(&words, next_word(&words), ret_question);
	if (!err && words.next < words.n)
		err = refuse_words(&words, "unexpected '%s'", words.at[words.next]);
	return err;
}
