/* Parsing the terms of --filter */
#include "cli/record/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/quantity.h"
#include "cli/verb_list.h"
#include "core/wire/desc.h"

static void exclude_verb(struct session_filter *filter, int verb)
{
	filter->left_out[verb / 64] |= 1ull << (verb % 64);
}

static int refuse_word(char complaint[OPTIONS_COMPLAINT], const char *what, const char *word)
{
	snprintf(complaint, OPTIONS_COMPLAINT, "--filter: %s '%.100s'", what, word);
	return -EINVAL;
}

static int read_plane(struct session_filter *filter, char *value, char complaint[OPTIONS_COMPLAINT])
{
	enum verb_plane other;

	if (strcmp(value, "control") && strcmp(value, "data"))
		return refuse_word(complaint, "plane= takes control or data, not", value);
	other = *value == 'c' ? PLANE_DATA : PLANE_CONTROL;
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_infos[verb].plane == other)
			exclude_verb(filter, verb);
	return 0;
}

/*
 * Note a wanted verb. A batch that several verbs build is one event, of ibv_wr_complete() or
 * ibv_wr_abort(); an iteration over completions is one poll.
 */
static void select_verb(bool *wanted, enum verb verb)
{
	wanted[verb] = true;
	if (verb_infos[verb].via == VIA_QPX)
		wanted[VERB_wr_complete] = wanted[VERB_wr_abort] = true;
	if (verb_infos[verb].via == VIA_CQX)
		wanted[VERB_poll_cq] = true;
}

static int read_verbs(struct session_filter *filter, char *value, char complaint[OPTIONS_COMPLAINT])
{
	struct verb_list verbs = { false }, wanted = { false };

	if (verb_list_add(&verbs, value, complaint))
		return -EINVAL;
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verbs.has[verb])
			select_verb(wanted.has, (enum verb)verb);
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (!wanted.has[verb])
			exclude_verb(filter, verb);
	return 0;
}

/* The type with that name: "rc" is IBV_QPT_RC; -1: there is none. */
static int64_t find_qp_type(const char *word)
{
	const struct enum_info *types = enum_find("ibv_qp_type");

	for (unsigned int i = 0; i < types->nvalues; i++)
		if (!strcasecmp(types->values[i].name + strlen("IBV_QPT_"), word))
			return types->values[i].value;
	return -1;
}

/* Is @digits "3/1", as in the name "qp3/1" of a queue pair of process 1 in a trace? */
static bool has_process(const char *digits)
{
	const char *slash = strchr(digits, '/');

	return slash && slash > digits && slash[1] &&
	       strspn(digits, "0123456789") == (size_t)(slash - digits) &&
	       !slash[1 + strspn(slash + 1, "0123456789")];
}

static int refuse_process(char complaint[OPTIONS_COMPLAINT], const char *word)
{
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "--filter: '%.40s': processes have no numbers before they run: write %.*s, which "
		 "selects the object in each process",
		 word, (int)strcspn(word, "/"), word);
	return -EINVAL;
}

static int read_qp(struct session_filter *filter, const char *word,
		   char complaint[OPTIONS_COMPLAINT])
{
	bool nth = !strncmp(word, "qp", 2);
	uint32_t *n = nth ? &filter->nnths : &filter->nqps;
	const char *digits = nth ? word + 2 : word;
	unsigned long number;
	char *end;

	if (find_qp_type(word) >= 0) {
		filter->qp_types |= session_qp_type((uint32_t)find_qp_type(word));
		return 0;
	}
	if (nth && has_process(digits))
		return refuse_process(complaint, word);
	number = strtoul(digits, &end, nth ? 10 : 0);
	if (*end || *digits < '0' || *digits > '9' || number > 0xffffff || (nth && !number))
		return refuse_word(complaint,
				   "a queue pair is qp3 (the third of its process) or a type such "
				   "as rc or ud, not",
				   word);
	if (*n == SESSION_QPS)
		return refuse_word(complaint, "too many queue pairs, from", word);
	(nth ? filter->nths : filter->qps)[(*n)++] = (uint32_t)number;
	return 0;
}

static int read_qps(struct session_filter *filter, char *value, char complaint[OPTIONS_COMPLAINT])
{
	char *rest = NULL;
	int err = 0;

	filter->some_qps = 1;
	for (char *word = strtok_r(value, "+", &rest); word && !err;
	     word = strtok_r(NULL, "+", &rest))
		err = read_qp(filter, word, complaint);
	return err;
}

static int read_device(struct session_filter *filter, char *value,
		       char complaint[OPTIONS_COMPLAINT])
{
	if (strlen(value) >= sizeof(filter->device))
		return refuse_word(complaint, "unknown device:", value);
	strcpy(filter->device, value);
	return 0;
}

static int read_sample(struct session_filter *filter, char *value,
		       char complaint[OPTIONS_COMPLAINT])
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*end || *value < '0' || *value > '9' || !n || n > UINT32_MAX)
		return refuse_word(complaint, "expected 1/N, such as 1/100 for one in 100, not",
				   value);
	filter->one_of = (uint32_t)n;
	return 0;
}

/* @seen: a bit for each kind of term that occurred before. */
static int read_term(struct session_filter *filter, char *term, unsigned int *seen,
		     char complaint[OPTIONS_COMPLAINT])
{
	static const struct {
		const char *name;
		int (*read)(struct session_filter *filter, char *value,
			    char complaint[OPTIONS_COMPLAINT]);
	} kinds[] = {
		{ "plane=", read_plane },   { "verb=", read_verbs }, { "qp=", read_qps },
		{ "device=", read_device }, { "1/", read_sample },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char *value = term + strlen(kinds[i].name);

		if (strncmp(term, kinds[i].name, strlen(kinds[i].name)))
			continue;
		if (*seen & 1u << i)
			return refuse_word(complaint,
					   "plane=, verb=, qp=, device= and 1/N may each be "
					   "given once (with + between the names), not again",
					   term);
		if (!value[strspn(value, "+")])
			return refuse_word(complaint, "nothing is named in", term);
		*seen |= 1u << i;
		return kinds[i].read(filter, value, complaint);
	}
	return refuse_word(complaint, "--filter takes plane=, verb=, qp=, device= or 1/N, not",
			   term);
}

/* "verb=a,b" is "verb=a+b": a word that is not a term continues the list before it. */
static void join_lists(char *words)
{
	bool list = false;

	for (char *term = words;; term++) {
		size_t length = strcspn(term, ",");

		if (memchr(term, '=', length) || !strncmp(term, "1/", 2))
			list = !strncmp(term, "verb=", 5) || !strncmp(term, "qp=", 3);
		else if (list && length)
			term[-1] = '+';
		term += length;
		if (!*term)
			return;
	}
}

int filter_read(const char *terms, struct session_filter *ret_filter,
		char complaint[OPTIONS_COMPLAINT])
{
	struct session_filter filter = { .on = 1 };
	char words[sizeof(filter.text)], *rest = NULL;
	unsigned int seen = 0;
	int err = 0;

	if (snprintf(filter.text, sizeof(filter.text), "%s", terms) >= (int)sizeof(filter.text))
		return refuse_word(complaint, "too long:", terms);
	strcpy(words, filter.text);
	join_lists(words);
	for (char *term = strtok_r(words, ",", &rest); term && !err;
	     term = strtok_r(NULL, ",", &rest))
		err = read_term(&filter, term, &seen, complaint);
	if (!err && *terms && !seen)
		return refuse_word(complaint, "nothing is named in", terms);
	if (!err && seen)
		*ret_filter = filter;
	return err;
}
