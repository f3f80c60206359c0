/* The command: not there yet. */
#include "cli/cli.h"

int cli_explain(int argc, char **argv)
{
	(void)argc;
	return cli_misuse(argv[0], "not implemented yet");
}
