/*
 * The traces of a joint one, found by the numbers of their contents
 */
#include "core/store/read/part.h"

struct joint_part *joint_of_process(struct joint *joint, uint32_t process)
{
	size_t i = joint->n;

	while (i > 1 && joint->parts[i - 1].ids.processes >= process)
		i--;
	return &joint->parts[i - 1];
}

struct joint_part *joint_of_thread(struct joint *joint, uint32_t thread)
{
	size_t i = joint->n;

	while (i > 1 && joint->parts[i - 1].ids.threads >= thread)
		i--;
	return &joint->parts[i - 1];
}

struct joint_part *joint_of_stack(struct joint *joint, uint32_t stack)
{
	size_t i = joint->n;

	while (i > 1 && joint->parts[i - 1].stacks >= stack)
		i--;
	return &joint->parts[i - 1];
}
