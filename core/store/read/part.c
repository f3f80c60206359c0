/*
 * Finding the part of a joint trace by the number of a process, a thread or a stack
 */
#include "core/store/read/part.h"

#include "core/base/vec.h"

/* Is the part's count of earlier numbers less than @key? One function for each kind of number. */
static bool is_process_before(const void *part, const void *key)
{
	return ((const struct joint_part *)part)->ids.processes < *(const uint32_t *)key;
}

static bool is_thread_before(const void *part, const void *key)
{
	return ((const struct joint_part *)part)->ids.threads < *(const uint32_t *)key;
}

static bool is_stack_before(const void *part, const void *key)
{
	return ((const struct joint_part *)part)->stacks < *(const uint32_t *)key;
}

/* The part that has @number; for 0 the first part. */
static struct joint_part *find_part(struct joint *joint, uint32_t number,
				    bool (*is_before)(const void *part, const void *key))
{
	size_t n =
		vec_count_before(joint->parts, joint->n, sizeof(*joint->parts), is_before, &number);

	return &joint->parts[n ? n - 1 : 0];
}

struct joint_part *joint_of_process(struct joint *joint, uint32_t process)
{
	return find_part(joint, process, is_process_before);
}

struct joint_part *joint_of_thread(struct joint *joint, uint32_t thread)
{
	return find_part(joint, thread, is_thread_before);
}

struct joint_part *joint_of_stack(struct joint *joint, uint32_t stack)
{
	return find_part(joint, stack, is_stack_before);
}
