/* An example of a plug-in: a trace, new arithmetic, and an oracle, which device code (kernels.cu) calls as if they were its own functions.
 *     cc -shared -fPIC -I FOLDER_OF_heddle_plugin.h example.c -o example.so -lm
 *     heddle --plugin=./example.so ./app */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "heddle_plugin.h"

struct vec2 { float x, y; };

/* A line on standard error for each thread that comes by. The text lies in the device's memory, which is this process's. */
void trace(const char *what, float value)
{
    struct heddle_thread t = heddle_thread();
    if (!t.again)                              /* not on the debugger's way back */
        fprintf(stderr, "%s: block %u thread %u: %s %g\n", t.kernel, t.block_index[0], t.thread_index[0], what, (double)value);
}

/* What the PTX says of it is (.param .align 4 .b8 [8], .param .b64); the signature says where floats are. */
HEDDLE_SIGNATURE(turned, "{f32, f32} ({f32, f32}, f64)")
struct vec2 turned(struct vec2 v, double degrees)
{
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    return (struct vec2){(float)(v.x * c - v.y * s), (float)(v.x * s + v.y * c)};
}

/* Sum of n values in memory of any kind: shared and local memory have no address in this process, heddle_at finds them. */
int sum_of(const int *values, int n)
{
    const int *at = heddle_at(values, (size_t)n * sizeof *values, 0);
    int sum = 0;
    if (!at)
        heddle_fail("sum_of: not all of the values can be read");
    for (int i = 0; at && i < n; i++)
        sum += at[i];
    return sum;
}

/* An oracle: the kernel stops at the thread that is wrong, and Heddle says where. */
void expect(int got, int wanted)
{
    char text[80];
    snprintf(text, sizeof text, "expected %d, got %d", wanted, got);
    if (got != wanted)
        heddle_fail(text);
}
