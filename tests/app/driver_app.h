// What programs of the driver API share: a call that must succeed, and a condition that must hold. Without cudart (app.h is for programs with it).
#ifndef HEDDLE_TESTS_APP_DRIVER_APP_H
#define HEDDLE_TESTS_APP_DRIVER_APP_H
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static int failures;

#define OK(call)                                                                                                    \
    do {                                                                                                            \
        CUresult ok_err = (call);                                                                                   \
        if (ok_err != CUDA_SUCCESS) {                                                                               \
            printf("FAIL: line %d: %s: %d\n", __LINE__, #call, ok_err);                                             \
            exit(1);                                                                                                \
        }                                                                                                           \
    } while (0)
#define EXPECT(cond, ...)                            /* more arguments: what printf is to say */                    \
    do {                                                                                                            \
        if (!(cond)) {                                                                                              \
            failures++;                                                                                             \
            printf("FAIL: line %d: %s", __LINE__, #cond);                                                           \
            printf(" " __VA_ARGS__);                                                                                \
            printf("\n");                                                                                           \
        }                                                                                                           \
    } while (0)
#endif
