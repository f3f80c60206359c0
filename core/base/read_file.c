/*
 * Reading a whole file
 */
#include "core/base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/vec.h"

/* Read @fd to its end, with space for a terminating 0. */
static int read_all(int fd, char **text, size_t *used)
{
	size_t size = 0;
	ssize_t n;

	do {
		if (vec_reserve(*text, size, *used + 4096))
			return -ENOMEM;
		n = read(fd, *text + *used, size - *used - 1);
		if (n > 0)
			*used += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

int read_file(const char *path, char **ret_text, size_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *text = NULL;
	size_t used = 0;

	if (fd < 0)
		return -errno;
	err = read_all(fd, &text, &used);
	close(fd);
	if (err) {
		free(text);
		return err;
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_bytes = used;
	return 0;
}
