#include "runtime/cli/cli.h"
#include "runtime/cli/standin.h"

int main(int argc, char **argv)
{
    standin_fn *other = argc ? standin_find(argv[0]) : 0;
    return other ? other(argc, argv) : cli_main(argc, argv);
}
