#pragma once
/*
 * Growing arrays.
 *
 * An array begins as NULL with count and size 0, belongs to its user, and ends with free(). If
 * memory runs out nothing is changed.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Add a zeroed element to an array that only this macro extends: its capacity is the next power of
 * two from its count on, so it needs no size field. Returns a pointer to the element, or NULL if
 * out of memory.
 *
 *	struct range *range = vec_push(m->ranges, m->nranges);
 *
 * @array is of any type, @count a size_t; both are lvalues.
 */
#define vec_push(array, count) ((typeof(array))vec_add(&(array), &(count), sizeof(*(array))))
void *vec_add(void *array, size_t *count, size_t each);

/*
 * The element at @index of such an array, which is extended by zeroed elements if it is shorter. A
 * pointer to the element, or NULL if out of memory. @index is evaluated more than once.
 *
 *	struct call_in_progress *call = vec_at(ends->calls, ends->ncalls, thread);
 */
#define vec_at(array, count, index) \
	((index) < (count)          \
		 ? &(array)[index]  \
		 : (typeof(array))vec_extend(&(array), &(count), (index), sizeof(*(array))))
void *vec_extend(void *array, size_t *count, size_t index, size_t each);

/*
 * Space for at least @want elements, in an array with a size field (size_t), which doubles. New
 * elements are not zeroed. 0 or -ENOMEM.
 *
 *	err = vec_reserve(text->at, text->size, text->used + n);
 */
#define vec_reserve(array, size, want) vec_grow(&(array), &(size), (want), sizeof(*(array)))
int vec_grow(void *array, size_t *size, size_t want, size_t each);

/*
 * The number of elements of a sorted array that are before @key: the index of the first that is
 * not.
 */
size_t vec_count_before(const void *array, size_t count, size_t each,
			bool (*is_before)(const void *element, const void *key), const void *key);
