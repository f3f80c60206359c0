/*
 * The key that both replays of a pair share
 *
 * It is never an argument, which every user of a machine can read, and its file must be readable by
 * its owner alone. Spaces and line ends after it are ignored.
 */
#include "cli/replay/replay_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/wire/log.h"

#define KEY_ENV "VERBATIM_REPLAY_KEY"

static int check_length(char *key, size_t *length, const char *where)
{
	while (*length && strchr(" \t\r\n", key[*length - 1]))
		--*length;
	if (*length >= REPLAY_KEY_LEAST)
		return 0;
	return cli_misuse("replay",
			  "the key in %s has fewer than %d bytes and could be guessed: create one "
			  "with head -c 32 /dev/urandom | base64",
			  where, REPLAY_KEY_LEAST);
}

static int check_mode(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st)) {
		log_err(-errno, "replay: examine the key %s", path);
		return CLI_ENVIRONMENT;
	}
	if (!S_ISREG(st.st_mode))
		return cli_misuse("replay", "the key %s is not a file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return cli_misuse("replay", "the key %s belongs to another user", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return cli_misuse("replay", "others can read the key %s: chmod 600 %s", path, path);
	return 0;
}

static int read_file(int fd, const char *path, char *key, size_t *ret_length)
{
	size_t used = 0;
	ssize_t n;

	while (used < REPLAY_KEY_MOST && (n = read(fd, key + used, REPLAY_KEY_MOST - used))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_err(-errno, "replay: read the key %s", path);
			return CLI_ENVIRONMENT;
		}
		used += (size_t)n;
	}
	if (used == REPLAY_KEY_MOST)
		return cli_misuse("replay", "the key %s has more than %d bytes", path,
				  REPLAY_KEY_MOST - 1);
	*ret_length = used;
	return 0;
}

int replay_key_read(const char *path, char key[REPLAY_KEY_MOST], size_t *ret_length)
{
	const char *given = getenv(KEY_ENV);
	int fd, status;

	if (!path && (!given || !*given))
		return cli_misuse(
			"replay",
			"both hosts need the same key, in --key FILE or " KEY_ENV
			": create one with (umask 077; head -c 32 /dev/urandom | base64 >FILE)");
	if (!path) {
		*ret_length = strlen(given);
		if (*ret_length >= REPLAY_KEY_MOST)
			return cli_misuse("replay", "the key in " KEY_ENV " is too long");
		memcpy(key, given, *ret_length);
		return check_length(key, ret_length, KEY_ENV);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		log_err(-errno, "replay: open the key %s", path);
		return CLI_ENVIRONMENT;
	}
	status = check_mode(fd, path) ?: read_file(fd, path, key, ret_length);
	close(fd);
	return status ? status : check_length(key, ret_length, path);
}
