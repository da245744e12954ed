/* Handlers that move values without looking at them: isa_mov.c, used by the decoder. */
#ifndef HEDDLE_EMU_MOV_H
#define HEDDLE_EMU_MOV_H
#include "emu/record.h"

struct handlers { handler full, masked; };

struct mov_table {
    struct handlers mov[4];                    /* by width class: 2 4 8 16 bytes */
    struct handlers convert[4][4][2];          /* [to][from][sign extended]; NULL where there is none */
    struct handlers high8_4, low4_2, high4_2;  /* halves */
    struct handlers pack4_8, pack2_4;          /* a low, b high */
    struct handlers put, get;                  /* bytes at `at` of each lane's element; see MOV_* */
};
extern const struct mov_table mov_table_base, mov_table_avx2, mov_table_avx512;

/* insn.imm of put and get: bytes per lane of the destination and source rows, bytes moved, place inside the wider one. */
#define MOV_IMM(to, from, bytes, at, sign) \
    ((uint64_t)(to) | (uint64_t)(from) << 8 | (uint64_t)(bytes) << 16 | (uint64_t)(at) << 24 | (uint64_t)(sign) << 32)
#define MOV_TO(x)    ((unsigned)((x) & 0xff))
#define MOV_FROM(x)  ((unsigned)((x) >> 8 & 0xff))
#define MOV_BYTES(x) ((unsigned)((x) >> 16 & 0xff))
#define MOV_AT(x)    ((unsigned)((x) >> 24 & 0xff))
#define MOV_SIGN(x)  ((x) >> 32 & 1)

#endif
