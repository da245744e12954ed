// diverge: nests of branches, loops whose trip counts differ from lane to lane, switch with fall-through, break, continue, early
// return, goto into a loop (irreducible flow): the same function on host and device gives the same numbers.
#include "app.h"

__host__ __device__ __noinline__ unsigned early(unsigned t, unsigned depth)
{
    if (t % 5 == 0)
        return t + 1;
    for (unsigned i = 0; i < depth; i++) {
        if ((t ^ i) % 11 == 3)
            return i * 100 + t;
        if (t % 2 && i > t % 9)
            break;
        t = t * 3 + i;
    }
    return t;
}

__host__ __device__ unsigned nest(unsigned t)
{
    unsigned r = t;
    if (t & 1) {
        if (t & 2) {
            if (t & 4)
                r = r * 3 + 1;
            else
                r ^= 0x55;
            r += 7;
        } else {
            for (unsigned i = 0; i < (t & 7); i++) {
                if (i & 1)
                    continue;
                r += i * t;
            }
        }
        r = r * 5;
    } else if (t & 8) {
        unsigned n = t % 13;
        while (n != 1 && n != 0) { // Collatz: very uneven
            n = n & 1 ? 3 * n + 1 : n / 2;
            r += n;
        }
    } else {
        unsigned i = 0;
        do {
            unsigned j = i;
            while (j < t % 6) {
                if (j == 4)
                    break;
                r = r * 2 + j++;
            }
            i++;
        } while (i < t % 4);
    }
    return r;
}

__host__ __device__ unsigned choose(unsigned t)
{
    unsigned r = 0;
    switch (t % 10) {
    case 0: r = 3; break;
    case 1: r += t; // fall through
    case 2: r += 2 * t; // fall through
    case 3: r ^= 9; break;
    case 4: for (unsigned i = 0; i < t % 17; i++) r += i; break;
    case 5: return early(t, 6);
    case 6: r = early(t, 3); // fall through
    case 7: r = r * 2 + 1; break;
    case 9: r = 0xffff; break;
    default: r = t * t;
    }
    return r + 1;
}

// Two labels jump into each other's middle: no structured form.
__host__ __device__ unsigned tangled(unsigned t)
{
    unsigned r = t, n = 0;
    if (t % 3 == 0)
        goto second;
first:
    r += 5;
    if (++n > t % 7 + 2)
        goto done;
    if (r % 4 == 1)
        goto first;
second:
    r = r * 3 + n;
    if (++n > t % 5 + 3)
        goto done;
    if (r % 2)
        goto first;
    r ^= 6;
    goto second;
done:
    return r * 10 + n;
}

__host__ __device__ unsigned conditions(unsigned t)
{
    unsigned r = 0;
    for (unsigned i = 0; i < 8; i++) {
        if ((t % 3 == 0 && i > 2) || (t % 7 == i && !(t & 16)) || t == 5)
            r += i;
        r = t > i * 8 ? (t & 1 ? r + 1 : r * 2) : r;
        if (i == t % 8 && r % 3 == 0)
            continue;
        r ^= i << 4;
    }
    return r;
}

__host__ __device__ unsigned all(unsigned t, int which)
{
    switch (which) {
    case 0: return nest(t);
    case 1: return choose(t);
    case 2: return early(t, t % 29);
    case 3: return tangled(t);
    default: return conditions(t);
    }
}

__global__ void run(unsigned *out, unsigned n, int which)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n)
        out[t] = all(t, which);
}

// Different lanes leave a loop with a warp-wide operation at different rounds.
__global__ void draining(int *out)
{
    int l = threadIdx.x;
    unsigned left = 0xffffffffu;
    int rounds = 0, n = l % 6;
    while (true) {
        unsigned go = __ballot_sync(left, n > 0);
        rounds++;
        if (!(go >> l & 1))
            break;
        left = go;
        n--;
    }
    __syncwarp();
    out[l] = rounds * 100 + __popc(left);
}

int main(void)
{
    const unsigned n = 1000;
    static unsigned out[n];
    unsigned *dout, hash = 0;
    OK(cudaMalloc(&dout, sizeof(out)));
    for (int which = 0; which < 5; which++) {
        run<<<(n + 127) / 128, 128>>>(dout, n, which);
        OK_LAUNCH();
        app_to_host(out, dout, n);
        for (unsigned t = 0; t < n; t++) {
            EXPECT(out[t] == all(t, which), "case %d thread %u is %u, not %u", which, t, out[t], all(t, which));
            hash = hash * 31 + out[t];
        }
    }
    draining<<<1, 32>>>((int *)dout);
    OK_LAUNCH();
    app_to_host(out, dout, 32);
    for (int l = 0; l < 32; l++) {
        int alive = 0;
        for (int k = 0; k < 32; k++)
            alive += k % 6 >= l % 6;
        EXPECT(out[l] == (unsigned)((l % 6 + 1) * 100 + alive), "draining lane %d is %u", l, out[l]);
    }
    printf("hash %08x\n", hash);
    return app_verdict();
}
