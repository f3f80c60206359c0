/*
 * Passwords in command lines
 *
 *	NAME	--password=X, --password X, DB_PASSWORD=X: the value of an option or a variable.
 *		Letters of any case; "_" and "." count as "-"; "*" is any text
 *	SHORT	-p X, unless X is a number (a port), an option, a path
 *	SCHEME	Bearer X, as in the head of a request
 *	TOKEN  a word with this beginning and at least this many characters
 *	always	the password in scheme://user:password@host
 *
 * A word with blanks is taken for a command line for a shell or ssh, and searched word by word,
 * unless it begins with NAME=: then the rest may be one password.
 */
#include "core/store/db/secret.h"

#include <ctype.h>
#include <string.h>

enum { NAME, SHORT, SCHEME, TOKEN };

/* What the next word may be: anything, a secret, or perhaps a secret. */
enum { NEXT_ANY, NEXT_SECRET, NEXT_PERHAPS };

/* clang-format off */
static const struct secret {
	int kind;
	const char *text;
	size_t least;
} secrets[] = {
	{ NAME, "pass", 0 },          { NAME, "*-pass", 0 },         { NAME, "*password*", 0 },
	{ NAME, "*passwd*", 0 },      { NAME, "*passphrase*", 0 },   { NAME, "*-pwd", 0 },
	{ NAME, "*token", 0 },        { NAME, "*secret*", 0 },       { NAME, "*api-key", 0 },
	{ NAME, "*apikey", 0 },       { NAME, "*access-key*", 0 },   { NAME, "*private-key", 0 },
	{ NAME, "*auth-key", 0 },     { NAME, "*replay-key", 0 },    { NAME, "*credential*", 0 },
	{ SHORT, "-p", 0 },           { SHORT, "-P", 0 },
	{ SCHEME, "bearer", 0 },      { SCHEME, "Bearer", 0 },       { SCHEME, "Basic", 0 },
	{ TOKEN, "AKIA", 20 },        { TOKEN, "ASIA", 20 }, /* AWS */
	{ TOKEN, "AIza", 35 },        { TOKEN, "ya29.", 25 }, /* Google */
	{ TOKEN, "ghp_", 24 },        { TOKEN, "gho_", 24 },         { TOKEN, "ghu_", 24 },
	{ TOKEN, "ghs_", 24 },        { TOKEN, "ghr_", 24 },         { TOKEN, "github_pat_", 30 },
	{ TOKEN, "glpat-", 20 },      { TOKEN, "xoxb-", 20 },        { TOKEN, "xoxp-", 20 },
	{ TOKEN, "hf_", 24 },         { TOKEN, "sk-", 24 },          { TOKEN, "npm_", 24 },
	{ TOKEN, "pypi-", 24 },       { TOKEN, "eyJ", 40 }, /* a JSON web token */
};
/* clang-format on */

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char blanks[] = " \t\r\n";

static char plain_char(char c)
{
	return c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c);
}

/* Does @name, @n bytes, match @glob? */
static bool matches_glob(const char *glob, const char *name, size_t n)
{
	for (; *glob && *glob != '*'; glob++, name++, n--)
		if (!n || plain_char(*name) != *glob)
			return false;
	if (!*glob)
		return !n;
	for (size_t i = 0; i <= n; i++)
		if (matches_glob(glob + 1, name + i, n - i))
			return true;
	return false;
}

static bool has_row(int kind, const char *word, size_t n)
{
	for (size_t i = 0; i < COUNT(secrets); i++) {
		const struct secret *s = &secrets[i];

		if (s->kind != kind)
			continue;
		if (kind == NAME ? matches_glob(s->text, word, n)
				 : strlen(s->text) == n && !strncmp(s->text, word, n))
			return true;
	}
	return false;
}

static size_t count_dashes(const char *word, size_t n)
{
	size_t dashes = 0;

	while (dashes < n && word[dashes] == '-')
		dashes++;
	return dashes;
}

static void add_mask(struct text *to)
{
	text_add(to, SECRET_MASK, sizeof(SECRET_MASK) - 1);
}

static size_t token_length(const char *at, size_t n)
{
	size_t length = 0;

	while (length < n && (isalnum((unsigned char)at[length]) || strchr("_-.", at[length])))
		length++;
	return length;
}

static bool is_token(const char *at, size_t n)
{
	for (size_t i = 0; i < COUNT(secrets); i++) {
		size_t k = strlen(secrets[i].text);

		if (secrets[i].kind == TOKEN && n >= secrets[i].least && n > k &&
		    !strncmp(at, secrets[i].text, k))
			return true;
	}
	return false;
}

/* The lengths of "user:password" at @at, which follows "://", and of "user"; 0: no password. */
static size_t find_password(const char *at, size_t n, size_t *ret_user)
{
	size_t end = 0;
	const char *colon;

	while (end < n && !strchr("@/?#,;", at[end]))
		end++;
	if (end == n || at[end] != '@')
		return 0;
	colon = memchr(at, ':', end);
	*ret_user = colon ? (size_t)(colon - at) : 0;
	return end;
}

static void add_value(const char *word, size_t n, struct text *to)
{
	bool inside = false;

	for (size_t i = 0; i < n;) {
		size_t length = inside ? 0 : token_length(word + i, n - i), all, user;

		if (length && is_token(word + i, length)) {
			add_mask(to);
			i += length;
			continue;
		}
		inside = isalnum((unsigned char)word[i]);
		text_char(to, word[i++]);
		if (i < 3 || strncmp(word + i - 3, "://", 3) != 0)
			continue;
		all = find_password(word + i, n - i, &user);
		if (all) {
			text_add(to, word + i, user);
			text_char(to, ':');
			add_mask(to);
			i += all;
		}
	}
}

static bool is_harmless(const char *word, size_t n)
{
	bool number = true;

	for (size_t i = 0; i < n; i++)
		number &= isdigit((unsigned char)word[i]) || strchr(",:-", word[i]);
	return number || strchr("-/.", *word);
}

/* Add a word without blanks. Returns what the next word may be: NEXT_*. */
static int add_plain(int next, const char *word, size_t n, struct text *to)
{
	size_t dashes = count_dashes(word, n);
	const char *equals = memchr(word, '=', n);

	if (next == NEXT_SECRET || (next == NEXT_PERHAPS && !is_harmless(word, n))) {
		add_mask(to);
		return NEXT_ANY;
	}
	if (equals && has_row(NAME, word + dashes, (size_t)(equals - word) - dashes)) {
		text_add(to, word, (size_t)(equals - word) + 1);
		add_mask(to);
		return NEXT_ANY;
	}
	add_value(word, n, to);
	if (equals)
		return NEXT_ANY;
	if (has_row(SCHEME, word, n) || (dashes && has_row(NAME, word + dashes, n - dashes)))
		return NEXT_SECRET;
	return has_row(SHORT, word, n) ? NEXT_PERHAPS : NEXT_ANY;
}

static bool has_blank(const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr(blanks, word[i]) && word[i])
			return true;
	return false;
}

/*
 * Add the words of an argument for a shell. A quoted password is assumed to end at its first blank.
 */
static void add_words(const char *words, size_t n, struct text *to)
{
	int next = NEXT_ANY;

	for (size_t i = 0; i < n;) {
		size_t length = 0;

		while (i < n && strchr(blanks, words[i]))
			text_char(to, words[i++]);
		while (i + length < n && !strchr(blanks, words[i + length]))
			length++;
		if (length)
			next = add_plain(next, words + i, length, to);
		i += length;
	}
}

void secret_add_word(struct secret_line *line, const char *word, size_t n, struct text *to)
{
	const char *equals = memchr(word, '=', n);
	size_t dashes = count_dashes(word, n);
	bool whole = line->next != NEXT_ANY || !has_blank(word, n) ||
		     (equals && !has_blank(word, (size_t)(equals - word)) &&
		      has_row(NAME, word + dashes, (size_t)(equals - word) - dashes));

	if (!n)
		line->next = NEXT_ANY;
	else if (whole)
		line->next = add_plain(line->next, word, n, to);
	else
		add_words(word, n, to);
}
