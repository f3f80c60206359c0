/*
 * Why a call was refused: the bits of its masks
 *
 *	comp_mask	bits that no version defines: the structure was not initialised
 *	flags		of ibv_rereg_mr(): each says which arguments count
 */
#include "analyzer/model/refused_mask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/refused_make.h"
#include "core/base/json_tree.h"
#include "core/wire/desc.h"

static uint64_t sum_values(const struct enum_info *info)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < info->nvalues; i++)
		all |= (uint64_t)info->values[i].value;
	return all;
}

/* The undefined bits in the mask of the structure that @field points to; 0: none. */
static uint64_t find_undefined_bits(const struct refused *r, const struct field_info *field)
{
	const struct struct_info *type = field->kind == FIELD_PTR ? field->type : NULL;
	const struct json_node *given = args_field(r->event->call->args, field);
	const struct field_info *mask;
	int64_t value;

	if (!type || type->mask < 0 || type->select || !given)
		return 0;
	mask = &type->fields[type->mask];
	if (mask->kind != FIELD_FLAGS || strcmp(mask->name, "comp_mask") ||
	    !args_value(json_find_member(given, mask->name, strlen(mask->name)), &value))
		return 0;
	return (uint64_t)value & ~sum_values(mask->names);
}

bool refused_explain_mask(const struct refused *r, char *text, size_t size)
{
	const struct struct_info *args = &verb_infos[r->event->call->verb].args;
	const int error = r->event->call->error;

	if (error != EINVAL && error != EOPNOTSUPP && error != ENOSYS)
		return false;
	for (uint16_t i = 0; i < args->nfields; i++) {
		uint64_t bits = find_undefined_bits(r, &args->fields[i]);

		if (!bits)
			continue;
		snprintf(text, size,
			 "comp_mask of %s has undefined bits, 0x%" PRIx64
			 ": was the structure set to zero first?",
			 args->fields[i].name, bits);
		return true;
	}
	return false;
}

/* rdma-core checks these before it calls the provider. */
bool refused_explain_rereg(const struct refused *r, char *text, size_t size)
{
	const struct args *args = r->event->call->args;
	int64_t flags, access = 0;

	if (!args_get(args, ARG(flags), &flags))
		return false;
	args_get(args, ARG(access), &access);
	if (!flags)
		snprintf(text, size, "flags is 0");
	else if (flags & ABI_REREG_MR_CHANGE_TRANSLATION &&
		 (!args_number(args, ARG(addr)) || !args_number(args, ARG(length))))
		snprintf(text, size, "%s is 0, with IBV_REREG_MR_CHANGE_TRANSLATION",
			 args_number(args, ARG(addr)) ? "length" : "addr");
	else if (access && !(flags & ABI_REREG_MR_CHANGE_ACCESS))
		snprintf(text, size, "access is not 0, and flags lack IBV_REREG_MR_CHANGE_ACCESS");
	else
		return flags & ABI_REREG_MR_CHANGE_ACCESS && refused_explain_rights(r, text, size);
	return true;
}
