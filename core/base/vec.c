/*
 * Arrays that grow
 */
#include "core/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 4 }; /* initial number of elements */

/* @array points to a pointer of any type; so the pointer is read and written as bytes. */
static int resize_array(void *array, size_t size, size_t each)
{
	size_t bytes;
	void *at;

	/* reallocarray() would do, but sanitizers abort a program that requests too much from it */
	if (__builtin_mul_overflow(size, each, &bytes))
		return -ENOMEM;
	memcpy(&at, array, sizeof(at));
	at = realloc(at, bytes);
	if (!at)
		return -ENOMEM;
	memcpy(array, &at, sizeof(at));
	return 0;
}

void *vec_add(void *array, size_t *count, size_t each)
{
	size_t n = *count;
	char *at;

	/* the array is full if it is empty, or if @n is a power of two, from FIRST on */
	if (!n && resize_array(array, FIRST, each))
		return NULL;
	if (n >= FIRST && !(n & (n - 1)) && resize_array(array, n * 2, each))
		return NULL;
	memcpy(&at, array, sizeof(at));
	++*count;
	return memset(at + n * each, 0, each);
}

void *vec_extend(void *array, size_t *count, size_t index, size_t each)
{
	void *element = NULL;

	while (*count <= index) {
		element = vec_add(array, count, each);
		if (!element)
			return NULL;
	}
	return element;
}

int vec_grow(void *array, size_t *size, size_t want, size_t each)
{
	size_t more = *size ? *size : FIRST;

	if (want <= *size)
		return 0;
	while (more < want)
		if (__builtin_mul_overflow(more, (size_t)2, &more))
			return -ENOMEM;
	if (resize_array(array, more, each))
		return -ENOMEM;
	*size = more;
	return 0;
}

size_t vec_count_before(const void *array, size_t count, size_t each,
			bool (*is_before)(const void *element, const void *key), const void *key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before((const char *)array + middle * each, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
