// vectypes: loads and stores of vectors of 2 and 4 elements of every size, aligned and packed structures, bytes and shorts with
// sign, volatile and cached forms (__ldg, __ldcg, __stcs).
#include "app.h"
#include <vector>

struct packed3 {
    unsigned char r, g, b;
};
struct __align__(8) aligned {
    short a;
    char b;
};

__global__ void vectors(const unsigned char *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int row = n * 32;
    int4 a = ((const int4 *)in)[i];
    ((int4 *)out)[i] = make_int4(a.w, a.z, a.y, a.x);
    float2 f = ((const float2 *)(in + row))[i];
    ((float2 *)(out + row))[i] = make_float2(f.y, f.x);
    uchar4 c = ((const uchar4 *)(in + 2 * row))[i];
    ((uchar4 *)(out + 2 * row))[i] = make_uchar4(c.w, c.x, c.y, c.z);
    short4 s = ((const short4 *)(in + 3 * row))[i];
    ((short4 *)(out + 3 * row))[i] = make_short4(s.y, s.x, s.w, s.z);
    double2 d = ((const double2 *)(in + 4 * row))[i];
    ((double2 *)(out + 4 * row))[i] = make_double2(d.y, d.x);
    ulonglong2 u = __ldg((const ulonglong2 *)(in + 5 * row) + i);
    __stcs((ulonglong2 *)(out + 5 * row) + i, make_ulonglong2(u.y, u.x + 1));
    packed3 p = ((const packed3 *)(in + 6 * row))[i];
    ((packed3 *)(out + 6 * row))[i] = packed3{p.b, p.r, p.g};
    aligned g = ((const aligned *)(in + 7 * row))[i];
    g.a = (short)(g.a + g.b);
    ((aligned *)(out + 7 * row))[i] = g;
    char sc = ((const volatile char *)(in + 8 * row))[i];
    short ss = __ldcg((const short *)(in + 9 * row) + i);
    ((int *)(out + 8 * row))[i] = sc;
    ((long long *)(out + 9 * row))[i] = ss;
    uint2 v = ((const volatile uint2 *)(in + 10 * row))[i].x ? make_uint2(1, 2) : make_uint2(3, 4);
    ((uint2 *)(out + 10 * row))[i] = v;
    char2 b = ((const char2 *)(in + 11 * row))[i];
    ((short2 *)(out + 11 * row))[i] = make_short2(b.x * b.y, b.x - b.y);
}

int main(void)
{
    const int n = 333, row = n * 32, size = 12 * row;
    std::vector<unsigned char> in(size), want(size, 0xee), got(size, 0xee);
    unsigned seed = 19;
    for (auto &b : in)
        b = (unsigned char)app_rand(&seed);
    for (int i = 0; i < n; i++) { // no NaN among the floating-point values
        in[row + 8 * i + 3] &= 0x3f, in[row + 8 * i + 7] &= 0x3f;
        in[4 * row + 16 * i + 7] &= 0x3f, in[4 * row + 16 * i + 15] &= 0x3f;
    }
    auto at = [&](std::vector<unsigned char> &v, int r, int offset) { return v.data() + r * row + offset; };
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++)
            memcpy(at(want, 0, 16 * i + 4 * k), at(in, 0, 16 * i + 4 * (3 - k)), 4);
        for (int k = 0; k < 2; k++) {
            memcpy(at(want, 1, 8 * i + 4 * k), at(in, 1, 8 * i + 4 * (1 - k)), 4);
            memcpy(at(want, 4, 16 * i + 8 * k), at(in, 4, 16 * i + 8 * (1 - k)), 8);
        }
        for (int k = 0; k < 4; k++) {
            memcpy(at(want, 2, 4 * i + k), at(in, 2, 4 * i + (k + 3) % 4), 1);
            memcpy(at(want, 3, 8 * i + 2 * k), at(in, 3, 8 * i + 2 * (k ^ 1)), 2);
        }
        unsigned long long u[2];
        memcpy(u, at(in, 5, 16 * i), 16);
        u[0]++;
        memcpy(at(want, 5, 16 * i), &u[1], 8);
        memcpy(at(want, 5, 16 * i + 8), &u[0], 8);
        for (int k = 0; k < 3; k++)
            memcpy(at(want, 6, 3 * i + k), at(in, 6, 3 * i + (k + 2) % 3), 1);
        short a;
        memcpy(&a, at(in, 7, 8 * i), 2);
        a = (short)(a + (signed char)*at(in, 7, 8 * i + 2));
        memcpy(at(want, 7, 8 * i), &a, 2);
        *at(want, 7, 8 * i + 2) = *at(in, 7, 8 * i + 2);
        int sc = (signed char)*at(in, 8, i);
        memcpy(at(want, 8, 4 * i), &sc, 4);
        memcpy(&a, at(in, 9, 2 * i), 2);
        long long ss = a;
        memcpy(at(want, 9, 8 * i), &ss, 8);
        unsigned x, v[2];
        memcpy(&x, at(in, 10, 8 * i), 4);
        v[0] = x ? 1 : 3, v[1] = x ? 2 : 4;
        memcpy(at(want, 10, 8 * i), v, 8);
        int bx = (signed char)*at(in, 11, 2 * i), by = (signed char)*at(in, 11, 2 * i + 1);
        short b[2] = {(short)(bx * by), (short)(bx - by)};
        memcpy(at(want, 11, 4 * i), b, 4);
    }
    unsigned char *din = app_to_device(in.data(), size), *dout = app_to_device(got.data(), size);
    vectors<<<(n + 63) / 64, 64>>>(din, dout, n);
    OK_LAUNCH();
    app_to_host(got.data(), dout, size);
    for (int k = 0; k < size; k++)
        // padding of the aligned structure may be copied or not
        EXPECT(got[k] == want[k] || (k / row == 7 && k % row < 8 * n && k % 8 > 2), "row %d, byte %d is %02x, not %02x", k / row,
               k % row, got[k], want[k]);
    printf("%d bytes\n", size);
    return app_verdict();
}
