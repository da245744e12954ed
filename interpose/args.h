/* Lists of (type, name, type, name, ...) as the rows of api.def have them, (void) for none. Up to 16 parameters.
 *   PARAMS list     type name, type name        for a prototype
 *   NAMES list      name, name                  for a call
 *   TRACED list     {"type", "name", &name, sizeof name}, ...      for struct api_arg */
#ifndef HEDDLE_ARGS_H
#define HEDDLE_ARGS_H

#define ARGS_COUNT_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, \
                    _29, _30, _31, _32, n, ...) n
#define ARGS_COUNT(...) ARGS_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, \
                                     1, 0)
#define ARGS_JOIN_(a, b) a##b
#define ARGS_JOIN(a, b) ARGS_JOIN_(a, b)
#define PARAMS(...) ARGS_JOIN(PARAMS_, ARGS_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define NAMES(...)  ARGS_JOIN(NAMES_, ARGS_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TRACED(...) ARGS_JOIN(TRACED_, ARGS_COUNT(__VA_ARGS__))(__VA_ARGS__)

#define PARAMS_1(v) void
#define PARAMS_2(t, n) t n
#define PARAMS_4(t, n, ...) t n, PARAMS_2(__VA_ARGS__)
#define PARAMS_6(t, n, ...) t n, PARAMS_4(__VA_ARGS__)
#define PARAMS_8(t, n, ...) t n, PARAMS_6(__VA_ARGS__)
#define PARAMS_10(t, n, ...) t n, PARAMS_8(__VA_ARGS__)
#define PARAMS_12(t, n, ...) t n, PARAMS_10(__VA_ARGS__)
#define PARAMS_14(t, n, ...) t n, PARAMS_12(__VA_ARGS__)
#define PARAMS_16(t, n, ...) t n, PARAMS_14(__VA_ARGS__)
#define PARAMS_18(t, n, ...) t n, PARAMS_16(__VA_ARGS__)
#define PARAMS_20(t, n, ...) t n, PARAMS_18(__VA_ARGS__)
#define PARAMS_22(t, n, ...) t n, PARAMS_20(__VA_ARGS__)
#define PARAMS_24(t, n, ...) t n, PARAMS_22(__VA_ARGS__)
#define PARAMS_26(t, n, ...) t n, PARAMS_24(__VA_ARGS__)
#define PARAMS_28(t, n, ...) t n, PARAMS_26(__VA_ARGS__)
#define PARAMS_30(t, n, ...) t n, PARAMS_28(__VA_ARGS__)
#define PARAMS_32(t, n, ...) t n, PARAMS_30(__VA_ARGS__)

#define NAMES_1(v)
#define NAMES_2(t, n) n
#define NAMES_4(t, n, ...) n, NAMES_2(__VA_ARGS__)
#define NAMES_6(t, n, ...) n, NAMES_4(__VA_ARGS__)
#define NAMES_8(t, n, ...) n, NAMES_6(__VA_ARGS__)
#define NAMES_10(t, n, ...) n, NAMES_8(__VA_ARGS__)
#define NAMES_12(t, n, ...) n, NAMES_10(__VA_ARGS__)
#define NAMES_14(t, n, ...) n, NAMES_12(__VA_ARGS__)
#define NAMES_16(t, n, ...) n, NAMES_14(__VA_ARGS__)
#define NAMES_18(t, n, ...) n, NAMES_16(__VA_ARGS__)
#define NAMES_20(t, n, ...) n, NAMES_18(__VA_ARGS__)
#define NAMES_22(t, n, ...) n, NAMES_20(__VA_ARGS__)
#define NAMES_24(t, n, ...) n, NAMES_22(__VA_ARGS__)
#define NAMES_26(t, n, ...) n, NAMES_24(__VA_ARGS__)
#define NAMES_28(t, n, ...) n, NAMES_26(__VA_ARGS__)
#define NAMES_30(t, n, ...) n, NAMES_28(__VA_ARGS__)
#define NAMES_32(t, n, ...) n, NAMES_30(__VA_ARGS__)

#define TRACED_1(v)
#define TRACED_2(t, n) {#t, #n, &n, sizeof n},
#define TRACED_4(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_2(__VA_ARGS__)
#define TRACED_6(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_4(__VA_ARGS__)
#define TRACED_8(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_6(__VA_ARGS__)
#define TRACED_10(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_8(__VA_ARGS__)
#define TRACED_12(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_10(__VA_ARGS__)
#define TRACED_14(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_12(__VA_ARGS__)
#define TRACED_16(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_14(__VA_ARGS__)
#define TRACED_18(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_16(__VA_ARGS__)
#define TRACED_20(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_18(__VA_ARGS__)
#define TRACED_22(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_20(__VA_ARGS__)
#define TRACED_24(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_22(__VA_ARGS__)
#define TRACED_26(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_24(__VA_ARGS__)
#define TRACED_28(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_26(__VA_ARGS__)
#define TRACED_30(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_28(__VA_ARGS__)
#define TRACED_32(t, n, ...) {#t, #n, &n, sizeof n}, TRACED_30(__VA_ARGS__)

#endif
