/* What parse.c makes of an expression's text and eval.c walks. */
#ifndef HEDDLE_DEBUG_PARSE_H
#define HEDDLE_DEBUG_PARSE_H
#include "runtime/debug/eval.h"

enum node_op {
    NODE_NUMBER, NODE_NAME, NODE_CAST, NODE_DEREF, NODE_ADDRESS, NODE_MINUS, NODE_NOT, NODE_INVERT, NODE_INDEX, NODE_MEMBER, NODE_SIZEOF,
    NODE_MUL, NODE_DIV, NODE_MOD, NODE_ADD, NODE_SUB, NODE_SHL, NODE_SHR, NODE_LT, NODE_GT, NODE_LE, NODE_GE, NODE_EQ, NODE_NE, NODE_AND, NODE_XOR, NODE_OR,
    NODE_LAND, NODE_LOR, NODE_CHOOSE, NODE_ASSIGN };

struct node {
    enum node_op op, compound;                          /* compound: of +=, the NODE_ADD; else NODE_ASSIGN */
    struct node *a, *b, *c;
    struct value number;                                /* NUMBER */
    const char *name;                                   /* NAME; MEMBER */
    struct type type;                                   /* CAST */
};
struct expr { struct arena arena; struct node *root; };

#endif
