/*
 * Texts altered by their words and lines, and traces of LTTng
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

enum { GROWN = 1 << 19 };

static size_t end_of(const uint8_t *bytes, size_t n, size_t at, const char *stops)
{
	while (at < n && !strchr(stops, bytes[at]))
		at++;
	return at;
}

/* Remove, double or replace a word or line of @in: into @out, of GROWN bytes. */
static size_t edit_text(struct dice *dice, const uint8_t *in, size_t n, uint8_t *out)
{
	const char *stops = dice_roll(dice, 3) ? " \t\n,=:;{}+" : "\n", *other = "";
	size_t at = end_of(in, n, dice_roll(dice, (uint32_t)n), stops), end, from, length = 0;
	char number[32];

	at += at < n;
	end = end_of(in, n, at, stops);
	switch (dice_roll(dice, 4)) {
	case 0:
		break;
	case 1:
		other = dice_text(dice, &length);
		break;
	case 2:
		length = (size_t)snprintf(number, sizeof(number), "%lld",
					  (long long)dice_number(dice));
		other = number;
		break;
	default: /* what stands elsewhere */
		from = end_of(in, n, dice_roll(dice, (uint32_t)n), stops);
		other = (const char *)in + from;
		length = end_of(in, n, from + (from < n), stops) - from;
	}
	if (at + length + n - end > GROWN)
		length = 0;
	memcpy(out, in, at);
	memcpy(out + at, other, length);
	memcpy(out + at + length, in + end, n - end);
	return at + length + n - end;
}

static void change_text(const char *path, struct dice *dice)
{
	static uint8_t texts[2][GROWN];
	uint8_t *bytes;
	int now = 0;
	size_t n;

	if (mutate_read(path, &bytes, &n))
		return;
	n = n > GROWN ? GROWN : n;
	memcpy(texts[0], bytes, n);
	free(bytes);
	for (uint32_t times = 1 + dice_roll(dice, 6); times; times--, now = !now)
		n = edit_text(dice, texts[now], n, texts[!now]);
	if (!dice_roll(dice, 4))
		dice_spoil(dice, texts[now], n);
	mutate_write(path, texts[now], n);
}

void mutate_text(const char *dir, struct dice *dice)
{
	change_text(mutate_path(dir, "text"), dice);
}

/* The metadata is a text, or packets of one; other files are packets. */
void mutate_ctf(const char *dir, struct dice *dice)
{
	const char *names[64];
	struct dirent **files;
	int n = scandir(dir, &files, NULL, alphasort), streams = 0;
	uint8_t *bytes;
	size_t size;

	for (int i = 0; i < n; i++)
		if (files[i]->d_name[0] != '.' && strcmp(files[i]->d_name, MUTATE_VICTIM) &&
		    strcmp(files[i]->d_name, "metadata") && streams < 64)
			names[streams++] = files[i]->d_name;
	if (!dice_roll(dice, 3)) {
		change_text(mutate_path(dir, "metadata"), dice);
	} else if (streams) {
		const char *path = mutate_path(dir, names[dice_roll(dice, (uint32_t)streams)]);

		if (!mutate_read(path, &bytes, &size)) {
			dice_spoil(dice, bytes, dice_roll(dice, 2) && size > 512 ? 512 : size);
			mutate_write(path, bytes,
				     dice_roll(dice, 6) ? size
							: dice_roll(dice, (uint32_t)size + 1));
			free(bytes);
		}
	}
	for (int i = 0; i < n; i++)
		free(files[i]);
	if (n >= 0)
		free(files);
}
