/* The parser: directives, declarations, operands, statements. */
#include "tests/unit/ptx_rig.h"

static const struct ptx_operand *op(const struct ptx_function *f, uint32_t insn, unsigned k) { return &f->insns[insn].operands[k]; }
static const struct ptx_var *var(const char *name) { return ptx_symbol_var(module, NULL, ptx_symbol_find(module, name)); }

START_TEST(header)
{
    rig_open("// comment\n/* another\n */\n.version 8.7\n.target sm_100a, debug\n.address_size 64\n# 1 \"x.cu\"\n.file 1 \"dir/a.cu\"\n.file 3 \"b.cu\", 123, 456\n"
             ".pragma \"nounroll\";\n.section .debug_abbrev\n{\n.b8 1\n.b8 125, 37 // }\n}\n");
    ck_assert_uint_eq(module->version, 87);
    ck_assert_uint_eq(module->target_sm, 100);
    ck_assert_int_eq(module->target_suffix, 'a');
    ck_assert(module->debug);
    ck_assert_uint_eq(module->n_files, 2);
    ck_assert_str_eq(module->files[1].name, "b.cu");
}
END_TEST

START_TEST(variables)
{
    rig_open(PTX_HEAD ".global .align 16 .b8 a[10];\n.visible .const .f32 c[2][3] = {{1.5}, {2.0, 0f40400000}};\n.extern .shared .align 8 .b8 dyn[];\n"
             ".global .attribute(.managed) .u32 m = 7;\n.weak .global .v4 .f32 v;\n.common .global .u64 z;\n.const[3] .b32 bank;\n.global .u32 many<3>;\n.global .texref t;\n"
             ".global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };\n.tex .u32 old;\n.global .b32 x, y[2], w = 1;");
    ck_assert_uint_eq(var("a")->bytes, 10);
    ck_assert_uint_eq(var("a")->align, 16);
    ck_assert_uint_eq(var("c")->bytes, 24);
    ck_assert_int_eq(var("c")->linkage, PTX_LINK_VISIBLE);
    ck_assert(var("dyn")->unsized && var("dyn")->bytes == 0 && var("dyn")->linkage == PTX_LINK_EXTERN);
    ck_assert(var("m")->managed && var("m")->init[0].value == 7);
    ck_assert_uint_eq(var("v")->bytes, 16);
    ck_assert_uint_eq(var("v")->align, 16);
    ck_assert_int_eq(var("z")->linkage, PTX_LINK_COMMON);
    ck_assert_uint_eq(var("bank")->const_bank, 3);
    ck_assert(var("many0") && var("many2") && !var("many3") && !var("many"));
    ck_assert_int_eq(var("t")->type, PTX_TEXREF);
    ck_assert_int_eq(var("old")->type, PTX_TEXREF);
    ck_assert_uint_eq(var("y")->bytes, 8);
    ck_assert_uint_eq(var("w")->n_init, 1);
}
END_TEST

/* The bytes that an initialiser gives, symbols left out. */
static void image_of(const struct ptx_var *v, unsigned char *out)
{
    memset(out, 0, v->bytes);
    for (uint32_t i = 0; i < v->n_init; i++)
        memcpy(out + v->init[i].offset, &v->init[i].value, v->init[i].bytes);
}

START_TEST(initialisers)
{
    static const unsigned char table[13] = { 1, 2, 0, 4, 5, 6, 7, 8, 9, 0, 0, 255, 127 };
    unsigned char bytes[64];
    rig_open(PTX_HEAD ".func f { ret; }\n.global .u8 t[13] = {1, 2, 0, 4, 5, 6, 7, 8, 9, 0, 0, -1, 0x7F};\n.global .s16 open[] = {1, 2, 3};\n"
             ".global .u64 p[4] = {t, generic(t)+8, t-1, f};\n.global .u8 m[3] = {0xFF(t), 0xFF00(t), 0xFF0000(t+2)};\n"
             ".global .f64 d[3] = {.15e1, 0d4000000000000000, 0f40400000};\n.global .u32 e = (3 + 4 * 2) << 1 | (WARP_SZ > 31 ? 1 : 0);\n"
             ".global .u64 big = 0xFFFFFFFFFFFFFFFF;\n.global .u32 oct = 017, bin = 0b101, uns = 5U;\n");
    image_of(var("t"), bytes);
    ck_assert_mem_eq(bytes, table, 13);
    ck_assert_uint_eq(var("open")->bytes, 6);
    const struct ptx_init *p = var("p")->init;
    ck_assert(p[0].sym == ptx_symbol_find(module, "t") && !p[0].generic && p[0].value == 0);
    ck_assert(p[1].generic && p[1].value == 8);
    ck_assert(p[2].value == (uint64_t)-1);
    ck_assert(p[3].sym == ptx_symbol_find(module, "f"));
    ck_assert(var("m")->init[1].shift == 8 && var("m")->init[1].bytes == 1 && var("m")->init[2].shift == 16 && var("m")->init[2].value == 2);
    double d[3];
    image_of(var("d"), (unsigned char *)d);
    ck_assert(d[0] == 1.5 && d[1] == 2.0 && d[2] == 3.0);
    ck_assert_uint_eq(var("e")->init[0].value, 23);
    ck_assert_uint_eq(var("big")->init[0].value, UINT64_MAX);
    ck_assert(var("oct")->init[0].value == 15 && var("bin")->init[0].value == 5 && var("uns")->init[0].value == 5);
}
END_TEST

START_TEST(function_headers)
{
    rig_open(PTX_HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.func later;\n"
             ".visible .entry k (.param .u32 a, .param .align 8 .b8 s[12], .param .u64 .ptr .global .align 1 q, .param .u8 c)\n"
             ".maxntid 256, 2\n.minnctapersm 3 .maxnreg 64 .reqnctapercluster 2, 1, 1 .explicitcluster .maxclusterrank 4 .blocksareclusters\n.pragma \"x\";\n{ ret; }\n"
             ".entry j .reqntid 32 { ret; }\n.weak .func (.reg .f32 out) g (.reg .f32 in) .noreturn .abi_preserve 4 { mov.f32 out, in; ret; }\n.func later { ret; }\n"
             ".func al; .alias al, later;");
    const struct ptx_function *k = &module->functions[ptx_function_find(module, "k")];
    ck_assert(k->is_entry && k->max_threads[0] == 256 && k->max_threads[1] == 2 && k->max_threads[2] == 1);
    ck_assert(k->min_ctas_per_sm == 3 && k->max_regs == 64 && k->cluster[0] == 2 && k->explicit_cluster && k->max_cluster_rank == 4);
    ck_assert_uint_eq(k->proto.n_params, 4);
    ck_assert_uint_eq(k->vars[k->proto.params[1]].offset, 8);
    ck_assert_uint_eq(k->vars[k->proto.params[2]].offset, 24);     /* the alignment behind .ptr is the pointee's */
    ck_assert_uint_eq(k->vars[k->proto.params[2]].align, 8);
    ck_assert_uint_eq(k->vars[k->proto.params[3]].offset, 32);
    ck_assert_uint_eq(k->proto.param_bytes, 33);
    const struct ptx_function *g = &module->functions[ptx_function_find(module, "g")];
    ck_assert(g->proto.noreturn && g->proto.n_returns == 1 && g->linkage == PTX_LINK_WEAK && g->n_regs == 2);
    ck_assert_uint_eq(module->functions[ptx_function_find(module, "j")].req_threads[0], 32);
    ck_assert(!module->functions[ptx_function_find(module, "vprintf")].has_body);
    ck_assert(module->functions[ptx_function_find(module, "later")].has_body);
    ck_assert_int_eq(ptx_function_find(module, "al"), ptx_function_find(module, "later"));
}
END_TEST

START_TEST(operands)
{
    const struct ptx_function *f = rig_kernel(
        ".shared .align 4 .b8 sh[16]; .local .b32 lo;\n"
        "mov.u32 %r1, %ctaid.z; ld.global.u32 %r2, [%d1+-4]; ld.global.u32 %r2, [%d1-8]; ld.shared.u32 %r2, [sh+4]; ld.global.u32 %r2, [64];\n"
        "ld.param.u64 %d1, [p0]; mov.b64 {%r1, _}, %d2; ld.global.v2.u32 {%r1, %r2}, [%d1]; st.global.v4.f32 [%d1], {%f1, 0f3F800000, %f3, %f4};\n"
        "selp.b32 %r1, %r2, 3, !%p1; setp.lt.and.f32 %p1|%p2, %f1, 1.5, !%p3; mov.u64 %d1, sh+8; mov.f64 %g1, 0dBFF0000000000000;\n"
        "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}]; mov.u32 %r1, %envreg2; vadd.u32.u32.s32.sat %r1.h1, %r2.b3, %r3.h0, %r4;\n"
        "mov.b32 %r1, -(3 + 1); @!%p2 add.s32 %r1, %r1, 0xFFFFFFFF; ld.global.v2.u32 {%r1}, [%d1];\nret;");
    ck_assert(op(f, 0, 1)->kind == PTX_OPERAND_SREG && op(f, 0, 1)->index == PTX_SREG_CTAID && op(f, 0, 1)->component == 2);
    ck_assert(op(f, 1, 1)->kind == PTX_OPERAND_MEM && (int64_t)op(f, 1, 1)->bits == -4 && f->insns[1].space == PTX_SPACE_GLOBAL);
    ck_assert((int64_t)op(f, 2, 1)->bits == -8);
    ck_assert(op(f, 3, 1)->sym == (int32_t)module->n_symbols + 1 && op(f, 3, 1)->index == -1 && op(f, 3, 1)->bits == 4);
    ck_assert(op(f, 4, 1)->sym == -1 && op(f, 4, 1)->index == -1 && op(f, 4, 1)->bits == 64);
    ck_assert_str_eq(ptx_symbol_name(module, f, op(f, 5, 1)->sym), "p0");
    ck_assert(op(f, 6, 0)->kind == PTX_OPERAND_VEC && f->vec_pool[op(f, 6, 0)->first + 1].kind == PTX_OPERAND_SINK);
    ck_assert(f->insns[7].vec == 2 && op(f, 7, 0)->count == 2);
    ck_assert(f->vec_pool[op(f, 8, 1)->first + 1].kind == PTX_OPERAND_F32);
    ck_assert(op(f, 9, 3)->negated);
    ck_assert(f->insns[10].has_pair && f->insns[10].n_operands == 5 && op(f, 10, 3)->kind == PTX_OPERAND_F64);
    ck_assert(op(f, 11, 1)->kind == PTX_OPERAND_SYM && op(f, 11, 1)->bits == 8);
    ck_assert_uint_eq(op(f, 12, 1)->bits, 0xBFF0000000000000u);
    ck_assert(op(f, 13, 1)->kind == PTX_OPERAND_TEXMEM && op(f, 13, 1)->count == 2 && f->vec_pool[op(f, 13, 1)->first + 1].kind == PTX_OPERAND_VEC);
    ck_assert_int_eq(op(f, 14, 1)->index, PTX_SREG_ENVREG2);
    ck_assert(op(f, 15, 0)->component == PTX_SELECT_H1 && op(f, 15, 0)->bits == 1 && op(f, 15, 1)->component == PTX_SELECT_B1 && op(f, 15, 1)->bits == 3);
    ck_assert_int_eq((int64_t)op(f, 16, 1)->bits, -4);
    ck_assert(f->insns[17].guard >= 0 && f->insns[17].guard_negated);
    ck_assert_uint_eq(op(f, 18, 0)->count, 1);
}
END_TEST

START_TEST(vector_registers)
{
    const struct ptx_function *f = rig_kernel(".reg .v4 .f32 v; .reg .v2 .b32 w<2>;\nmov.f32 v.y, %f1; ld.global.v4.f32 v, [%d1]; mov.b32 %r1, w1.x; ret;");
    ck_assert_str_eq(f->regs[op(f, 0, 0)->index].name, "v.y");
    ck_assert(op(f, 1, 0)->kind == PTX_OPERAND_VEC && op(f, 1, 0)->count == 4);
    ck_assert_str_eq(f->regs[op(f, 2, 1)->index].name, "w1.x");
}
END_TEST

START_TEST(scopes)
{
    const struct ptx_function *f = rig_kernel(
        ".reg .b32 %q1; mov.b32 %q1, 1;\n{ .reg .pred %q1; .reg .b32 a; mov.b32 a, 2; setp.eq.s32 %q1, a, 2; L: @%q1 bra L; bra OUT; }\n"
        "{ .reg .f64 a; mov.f64 a, 0d0000000000000000; L: bra L; }\nmov.b32 %q1, 3;\nOUT: ret;");
    ck_assert_int_eq(op(f, 0, 0)->index, op(f, 7, 0)->index);
    ck_assert_int_ne(op(f, 0, 0)->index, op(f, 2, 0)->index);
    ck_assert_uint_eq(f->labels[op(f, 3, 0)->index].insn, 3);
    ck_assert_uint_eq(f->labels[op(f, 6, 0)->index].insn, 6);
    ck_assert_uint_eq(f->labels[op(f, 4, 0)->index].insn, 8);
    ck_assert_int_eq(f->regs[op(f, 5, 0)->index].type, PTX_F64);
}
END_TEST

START_TEST(calls_and_lists)
{
    rig_open(PTX_HEAD ".func (.param .b32 r) f (.param .b32 a) { ret; }\n.func g { ret; }\n.entry k {\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n"
             "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), f, (p); ld.param.b32 %r2, [q]; }\ncall g; call g, ();\n"
             "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn;\ncall (%r1), %d1, (%d2, 5), proto;\n"
             "list: .calltargets f, g;\ncall (%r1), %d1, (%r2), list;\nbr: .branchtargets A, B, A;\nbrx.idx %r1, br;\nA: ret;\nB: exit;\n}");
    const struct ptx_function *k = &module->functions[ptx_function_find(module, "k")];
    ck_assert_int_eq(op(k, 1, 0)->kind, PTX_OPERAND_LIST);
    ck_assert_int_eq(op(k, 1, 1)->sym, ptx_symbol_find(module, "f"));
    ck_assert_int_eq(k->vec_pool[op(k, 1, 2)->first].kind, PTX_OPERAND_SYM);
    ck_assert_uint_eq(k->insns[3].n_operands, 1);
    ck_assert_uint_eq(op(k, 4, 1)->count, 0);
    ck_assert_uint_eq(k->n_protos, 1);
    ck_assert(k->protos[0].noreturn && k->protos[0].n_params == 2 && k->protos[0].param_bytes == 12);
    ck_assert_uint_eq(k->protos[0].at_label, (uint32_t)op(k, 5, 3)->index);
    ck_assert_uint_eq(k->n_targets, 2);
    ck_assert(k->targets[0].calls && k->targets[0].at_label == (uint32_t)op(k, 6, 3)->index);
    ck_assert(k->targets[1].n == 3 && k->targets[1].at_label == (uint32_t)op(k, 7, 1)->index);
    ck_assert_uint_eq(k->labels[k->targets[1].index[1]].insn, 9);
}
END_TEST

START_TEST(lines)
{
    char buf[64];
    rig_open(PTX_HEAD ".file 1 \"/src/a.cu\"\n.file 2 \"/src/h.h\"\n.entry k {\n.reg .b32 %r<3>;\n.loc 1 10 3\nadd.s32 %r1, %r1, 1;\n"
             ".loc 2 5 1, function_name $str+4, inlined_at 1 11 2\nadd.s32 %r1, %r1, 2;\nret;\n}\n.section .debug_str { $str: .b8 0 }");
    const struct ptx_function *k = &module->functions[0];
    ck_assert_str_eq(ptx_source_line(module, k, &k->insns[0], buf, sizeof buf), "a.cu:10");
    ck_assert_str_eq(ptx_source_line(module, k, &k->insns[1], buf, sizeof buf), "h.h:5");
    ck_assert_uint_eq(k->locs[k->locs[k->insns[1].loc].inlined_at].line, 11);
    ck_assert_uint_eq(k->insns[0].line, 9);
    ck_assert_uint_eq(k->insns[0].column, 1);
    rig_close();
    rig_open(PTX_HEAD ".entry k { /* a\n\n */ ret;\n  ret; /*\n*/ret; }  .entry j { exit; }");
    k = &module->functions[0];
    ck_assert(k->insns[0].line == 6 && k->insns[0].column == 5 && k->insns[1].column == 3 && k->insns[2].line == 8 && k->insns[2].column == 3);
    ck_assert(module->functions[1].insns[0].line == 8 && module->functions[1].insns[0].column == 22);
}
END_TEST

START_TEST(printing)
{
    static const char *const texts[] = {
        "@!%p1 add.sat.s32 %r1, %r2, -3;", "ld.global.nc.v2.f32 {%f1, %f2}, [%d1+16];", "setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p3;",
        "mov.b64 %d1, {%r1, %r2};", "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}];", "mov.u32 %r1, %tid.x;", "fma.rn.f32 %f1, %f2, 0f3F800000, %f3;",
        "vadd4.u32.u32.u32.add %r1, %r2.b7654, %r3.b3210, %r4;", "ret;", "vmad.s32.s32.s32 %r1, -%r2.h0, %r3.h1, %r4;" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char buf[200];
        const struct ptx_function *f = rig_kernel(texts[i]);
        ck_assert_str_eq(ptx_insn_print(module, f, &f->insns[0], buf, sizeof buf), texts[i]);
        rig_close();
    }
}
END_TEST

START_TEST(order_of_words_is_free)
{
    const struct ptx_function *f = rig_kernel("ld.global.volatile.u32 %r1, [%d1]; red.add.global.u32 [%d1], %r1; vote.ballot.sync.b32 %r1, %p1, -1; ret;");
    ck_assert_uint_eq(f->n_insns, 4);
    rig_close();
    f = rig_kernel("cvt.rn.f32.s32 %f1, %r1; cvt.rzi.s32.f32 %r1, %f1; ret;");
    ck_assert(f->insns[0].types[0] == PTX_F32 && f->insns[0].types[1] == PTX_S32 && f->insns[0].n_types == 2);
}
END_TEST

START_TEST(bodies_are_lazy)
{
    static const char text[] = PTX_HEAD ".entry bad { nonsense; \"}\" /* } */ // }\n }\n.entry good { ret; }";
    ck_assert(ptx_module_open(&module, "t.ptx", text, sizeof text - 1, &error) == ST_OK);
    ck_assert_uint_eq(module->n_functions, 2);
    ck_assert(ptx_function_body(module, 1, &error) == ST_OK);
    ck_assert(ptx_function_body(module, 0, &error) == ST_INVALID_PTX);
    struct error again;
    ck_assert(ptx_function_body(module, 0, &again) == ST_INVALID_PTX);
    ck_assert_str_eq(error.text, again.text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { header, variables, initialisers, function_headers, operands, vector_registers, scopes, calls_and_lists, lines, printing,
                           order_of_words_is_free, bodies_are_lazy };
    return rig_run("ptx_parse", tests, sizeof tests / sizeof tests[0]);
}
