#pragma once
/*
 * The JSON of a call's arguments, read where it lies.
 *
 * A value is a pointer to its first character within a whole JSON text that
 * core/store has made: numbers, texts, null, objects, arrays, no blanks. Any
 * thread.
 */
#include <stddef.h>
#include <stdint.h>

/* What follows @value; at the text's end if it is damaged. */
const char *jscan_skip(const char *value);

/*
 * Step through an object or an array: *@at is the value itself at first, and
 * then belongs to these. Returns the next element, with its name if it has
 * one, or NULL.
 */
const char *jscan_next(const char **at, const char **ret_name, size_t *ret_length);

/* The member @name of the object @value, or NULL. */
const char *jscan_member(const char *value, const char *name);
