#pragma once
/*
 * Arrays that grow.
 *
 * An array begins as NULL with count and size 0, belongs to its user, and ends
 * with free(). Where memory runs out nothing has changed.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * One more element, zeroed, at the end of an array that only this function
 * makes longer: its room is the next power of two of its count, so that it
 * needs no size of its own. A pointer to the element, or NULL without memory.
 *
 *	struct range *range = vec_push(m->ranges, m->nranges);
 *
 * @array is of any type, @count a size_t; both are lvalues.
 */
#define vec_push(array, count) ((typeof(array))vec_add(&(array), &(count), sizeof(*(array))))
void *vec_add(void *array, size_t *count, size_t each);

/*
 * Room for at least @want elements, in an array with a size of its own (size_t),
 * which doubles. What is new is not zeroed. 0 or -ENOMEM.
 *
 *	err = vec_reserve(text->at, text->size, text->used + n);
 */
#define vec_reserve(array, size, want) vec_grow(&(array), &(size), (want), sizeof(*(array)))
int vec_grow(void *array, size_t *size, size_t want, size_t each);

/*
 * How many elements of a sorted array come before @key: the index of the first
 * that does not.
 */
size_t vec_count_before(const void *array, size_t count, size_t each,
			bool (*is_before)(const void *element, const void *key), const void *key);
