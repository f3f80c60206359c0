/*
 * Traffic as a text: what writing and reading share
 */
#include "cli/model/model_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/model/model_names.h"
#include "core/model/operation.h"

static const struct {
	const char *name;
	int opcode;
} opcodes[] = {
	{ "SEND", ABI_WR_SEND },
	{ "SEND_WITH_IMM", ABI_WR_SEND_WITH_IMM },
	{ "RDMA_WRITE", ABI_WR_RDMA_WRITE },
	{ "RDMA_WRITE_WITH_IMM", ABI_WR_RDMA_WRITE_WITH_IMM },
	{ "RDMA_READ", ABI_WR_RDMA_READ },
	{ "ATOMIC_CMP_AND_SWP", ABI_WR_ATOMIC_CMP_AND_SWP },
	{ "ATOMIC_FETCH_AND_ADD", ABI_WR_ATOMIC_FETCH_AND_ADD },
};
enum { OPCODES = sizeof(opcodes) / sizeof(*opcodes) };

static const char *const transports[LOAD_TRANSPORTS] = { "RC", "UC", "UD" };

const char *model_opcode_name(int opcode)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (opcodes[i].opcode == opcode)
			return opcodes[i].name;
	return NULL;
}

int model_find_opcode(const char *name)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (!strcmp(opcodes[i].name, name))
			return opcodes[i].opcode;
	return -1;
}

const char *model_transport_name(enum load_transport transport)
{
	return transports[transport];
}

enum load_transport model_find_transport(const char *name)
{
	unsigned int i = 0;

	while (i < LOAD_TRANSPORTS && strcmp(transports[i], name))
		i++;
	return (enum load_transport)i;
}

size_t model_count_edges(enum load_pattern pattern, uint32_t n)
{
	size_t count = 0;

	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++)
			count += load_pattern_has(pattern, from, to, n);
	return count;
}

bool model_is_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256], word[8];
	bool is = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (*line == '#' || strspn(line, " \t\n") == strlen(line))
			continue;
		is = sscanf(line, "%7s", word) == 1 && !strcmp(word, "model") &&
		     isspace((unsigned char)line[strspn(line, " \t") + strlen(word)]);
		break;
	}
	if (file)
		fclose(file);
	return is;
}
