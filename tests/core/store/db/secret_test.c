/*
 * Which parts of a command line are taken for passwords
 */
#include "core/store/db/secret.h"

#include <string.h>

#include "tests/test.h"

/* Words are separated by "|". */
static const char *mask_words(const char *words, struct text *text)
{
	struct secret_line line = { 0 };

	text_fini(text);
	*text = (struct text){ 0 };
	for (const char *at = words;; at++) {
		size_t n = strcspn(at, "|");

		secret_add_word(&line, at, n, text);
		at += n;
		if (!*at)
			break;
		text_char(text, '|');
	}
	return text->at;
}

TEST(passwords_are_masked)
{
	static const struct {
		const char *words, *masked;
	} rows[] = {
		{ "app|--password=geheim|-n|5", "app|--password=***|-n|5" },
		{ "app|--password|geheim|-n|5", "app|--password|***|-n|5" },
		{ "app|--db-passwd|geheim", "app|--db-passwd|***" },
		{ "app|-password|my own words|x", "app|-password|***|x" },
		{ "app|--password=my own words|x", "app|--password=***|x" },
		{ "app|--api_key=1234", "app|--api_key=***" },
		{ "app|--API-KEY|1234", "app|--API-KEY|***" },
		{ "app|--token|abc|def", "app|--token|***|def" },
		{ "mpirun|-x|DB_PASSWORD=geheim|app", "mpirun|-x|DB_PASSWORD=***|app" },
		{ "env|AWS_SECRET_ACCESS_KEY=wJalr/X+2|app", "env|AWS_SECRET_ACCESS_KEY=***|app" },
		{ "env|VERBATIM_REPLAY_KEY=x", "env|VERBATIM_REPLAY_KEY=***" },
		{ "sshpass|-p|geheim|ssh", "sshpass|-p|***|ssh" },
		{ "sh|-c|sshpass -p geheim ssh a", "sh|-c|sshpass -p *** ssh a" },
		{ "sh|-c|env A_TOKEN=geheim app  -n 5", "sh|-c|env A_TOKEN=*** app  -n 5" },
		{ "sh|-c|A_TOKEN=geheim or more", "sh|-c|A_TOKEN=***" },
		{ "curl|-H|Authorization: Bearer abc", "curl|-H|Authorization: Bearer ***" },
		{ "app|https://me:geheim@host:80/x?y", "app|https://me:***@host:80/x?y" },
		{ "app|--url=amqp://me:geheim@host", "app|--url=amqp://me:***@host" },
		{ "app|https://geheim@host", "app|https://:***@host" },
		{ "app|AKIAIOSFODNN7EXAMPLE", "app|***" },
		{ "app|--id=AKIAIOSFODNN7EXAMPLE,x", "app|--id=***,x" },
		{ "app|ghp_0123456789abcdefghij0123", "app|***" },
		{ "app|https://h/?t=ghp_0123456789abcdefghij0123&u", "app|https://h/?t=***&u" },
	};
	struct text text = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(mask_words(rows[i].words, &text), rows[i].masked);
	text_fini(&text);
}

TEST(other_arguments_stay)
{
	static const char *const rows[] = {
		"ib_write_bw|-p|18515|-d|mlx5_0",
		"ib_write_bw|-p|-F",
		"mkdir|-p|/tmp/x",
		"app|--rkey=0x1234|--pkey|5|--key-size=7|--mkey",
		"app|--bypass|--passive=yes|--compass|x",
		"app|--max-tokens=5",
		"app|https://host:80/a@b",
		"app|git@host:path",
		"sh|-c|echo a=b | wc -l; exit",
		"app||x",
		"app|AKIA",
		"python|-m|train|--tokenizer|gpt|--task-1",
	};
	struct text text = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(mask_words(rows[i], &text), rows[i]);
	text_fini(&text);
}
