#include <stdio.h>

int main(void)
{
    puts("heddle " HEDDLE_VERSION);
    return 0;
}
