/* Settings of the simulated GPU: both languages, the parsers of composite options, mistakes with their places, the built-in parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing/config.h"
#include "tests/unit/suite.h"

static struct timing_settings *s;
static struct timing_config c;

static void begin(void)
{
    s = timing_settings_new();
    ck_assert_ptr_nonnull(s);
}

static void end(void) { timing_settings_free(s); }

static enum status check(void)
{
    static struct error err;
    return timing_settings_check(s, &c, &err);
}

static bool gpgpusim(const char *text) { return timing_settings_text(s, "test.config", text, strlen(text)); }
static bool own(const char *text) { return timing_settings_text(s, "test.conf", text, strlen(text)); }

/* Is there a note that has all of text? */
static bool noted(const char *text)
{
    for (size_t i = 0; i < timing_settings_notes(s); i++)
        if (strstr(timing_settings_note(s, i, NULL), text))
            return true;
    return false;
}

/* What was noted, when it is not what a test wants. */
static void print_notes(bool wanted)
{
    for (size_t i = 0; !wanted && i < timing_settings_notes(s); i++)
        printf("%s\n", timing_settings_note(s, i, NULL));
}

/* ---- tables ---- */

START_TEST(defaults_are_a_machine)
{
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(timing_settings_notes(s), 0);
    ck_assert_uint_eq(c.derived.sms, 30);
    char value[200];
    for (size_t i = 0; i < timing_knob_count(); i++) {           /* what is printed is what was meant */
        struct timing_knob k = timing_knob(i);
        ck_assert_msg(strcmp(timing_knob_print(s, i, value, sizeof value), k.standard) == 0 || atof(value) == atof(k.standard), "%s: %s, not %s", k.name,
                      value, k.standard);
        ck_assert_msg(*k.help, "%s has no help", k.name);
        ck_assert_int_eq(timing_knob_find(k.name), (int)i);
    }
}
END_TEST

START_TEST(printed_values_read_back)
{
    ck_assert(timing_settings_part(s, "a100"));
    ck_assert_int_eq(check(), ST_OK);
    struct timing_settings *again = timing_settings_new();
    for (size_t i = 0; i < timing_knob_count(); i++) {
        char value[200];
        ck_assert(timing_settings_set(again, timing_knob(i).name, timing_knob_print(s, i, value, sizeof value), "test"));
    }
    static struct timing_config d;
    struct error err;
    ck_assert_int_eq(timing_settings_check(again, &d, &err), ST_OK);
    ck_assert_int_eq(memcmp(&c, &d, sizeof c), 0);
    timing_settings_free(again);
}
END_TEST

/* ---- GPGPU-Sim's language ---- */

START_TEST(gpgpusim_words)
{
    ck_assert(gpgpusim("# comment\n-gpgpu_n_clusters 0x10 # 16\n-gpgpu_shader_cta 010\n-gpgpu_flush_l1_cache\n-gpgpu_n_mem\n   4\n"
                       "-gpgpu_perfect_mem 1 -gpgpu_perfect_mem 0 -gpgpu_cache:dl2_texture_only 0#glued\n-icnt_flit_size 40"));
    ck_assert_uint_eq(timing_settings_notes(s), 0);
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.sm.clusters, 16);
    ck_assert_uint_eq(c.sm.ctas, 8);
    ck_assert(c.sm.flush_l1 && !c.lsu.perfect && !c.mem.l2_texture_only);
    ck_assert_uint_eq(c.mem.channels, 4);
    ck_assert_uint_eq(c.noc.flit_bytes, 40);
    char origin[100];
    ck_assert_str_eq(timing_knob_origin(s, (size_t)timing_knob_find("mem.channels"), origin, sizeof origin), "test.config:6");
    ck_assert_str_eq(timing_knob_origin(s, (size_t)timing_knob_find("-icnt_flit_size"), origin, sizeof origin), "test.config:8");
    ck_assert_str_eq(timing_knob_origin(s, (size_t)timing_knob_find("dram.tRCD"), origin, sizeof origin), "default");
}
END_TEST

START_TEST(gpgpusim_quotes)
{
    ck_assert(gpgpusim("-gpgpu_dram_timing_opt \"nbk=16:CCD=2:RRD=6:RCD=13: # why not\n   RAS=28:RP=12:RC=40:\n\t CL=12:WL=4:CDLR=5:WR=12:nbkgrp=4:CCDL=3:RTPL=2\"\n"
                       "-gpgpu_scheduler \"lrr\""));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.dram.banks, 16);
    ck_assert_uint_eq(c.dram.tRCD, 13);
    ck_assert_uint_eq(c.dram.tRAS, 28);
    ck_assert_uint_eq(c.dram.tRTPL, 2);
    ck_assert_int_eq(c.issue.policy, TIMING_LRR);
}
END_TEST

START_TEST(gpgpusim_traps)
{
    ck_assert(gpgpusim("-smem_latency 26 -gpuwattch_xml_file old.xml -ptx_opcode_latency_tesnor 33 -gmem_skip_L1D 1 -perf_sim_memcpy 0\n"
                       "-memory_partition_indexing 4 -gpgpu_shmem_warp_parts 2 -gpgpu_shmem_warp_parts 1\n"
                       "-ptx_opcode_latency_int 4,4,4,4,21 -ptx_opcode_initiation_int 2,2,2,2,2\n"
                       "-trace_opcode_latency_initiation_int 2,0 -gpgpu_cache:dl2 64:128:8,L:B:m:N,A:16:4,4 -power_simulation_enabled 0"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.smem.latency, 26);
    ck_assert_uint_eq(c.latency.tensor, 33);
    ck_assert(c.lsu.skip_l1 && !c.mem.copy_fills_l2);
    ck_assert_int_eq(c.mem.hash, TIMING_SLICE_RANDOM);
    ck_assert_uint_eq(c.smem.warp_parts, 1);
    ck_assert_uint_eq(c.latency.shuffle, 21);
    ck_assert_uint_eq(c.initiation.shuffle, 4);
    ck_assert_uint_eq(c.sass.int_initiation, 1);
    ck_assert(c.sass.given);
    ck_assert_int_eq(c.l2.kind, TIMING_CACHE_NORMAL);
    ck_assert_int_eq(c.l2.index, TIMING_SET_LINEAR);
    ck_assert_uint_eq(c.l2.port, 0);
    ck_assert(gpgpusim("-ptx_opcode_latency_tensor 34"));
    ck_assert_uint_eq(timing_settings_notes(s), 1);              /* the interval of 0 */
    ck_assert(noted("sass.int_initiation = 0: an interval is at least 1"));
}
END_TEST

START_TEST(gpgpusim_accepted)
{
    ck_assert(gpgpusim("-power_simulation_enabled 1\n-power_simulation_enabled 1\n-visualizer_enabled 0\n-l2_ideal\n-gpgpu_ptx_force_max_capability 70\n"
                       "-gpgpu_opndcoll_model 1 -trace_components WARP_SCHEDULER,SCOREBOARD"));
    ck_assert_uint_eq(timing_settings_notes(s), 2);
    ck_assert(noted("-power_simulation_enabled has no effect: there is no power model"));
    ck_assert(noted("-l2_ideal has no effect"));
    ck_assert_int_eq(check(), ST_OK);
}
END_TEST

START_TEST(gpgpusim_unknown)
{
    ck_assert(gpgpusim("-gpgpu_n_cluster 3 4 x\n-gpgpu_n_mem 4\n-something_else_altogether\n"));
    ck_assert(noted("test.config:1:1: unknown option '-gpgpu_n_cluster', ignored"));
    ck_assert(noted("did you mean '-gpgpu_n_clusters'?"));
    ck_assert(noted("'-something_else_altogether'"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.mem.channels, 4);
}
END_TEST

/* A file that describes a whole GPU replaces the part; one that does not is a layer over it. */
START_TEST(gpgpusim_stands_alone)
{
    ck_assert(timing_settings_part(s, "v100"));
    ck_assert(gpgpusim("-gpgpu_n_clusters 2"));
    ck_assert(gpgpusim("-gpgpu_n_mem 2"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.sm.clusters, 2);
    ck_assert_uint_eq(c.sm.registers, 8192);
    ck_assert_uint_eq(c.mem.channels, 2);
}
END_TEST

START_TEST(gpgpusim_over_a_part)
{
    ck_assert(timing_settings_part(s, "v100"));
    ck_assert(gpgpusim("-gpgpu_scheduler lrr"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.sm.clusters, 80);
    ck_assert_int_eq(c.issue.policy, TIMING_LRR);
}
END_TEST

/* ---- composite options ---- */

START_TEST(cache_strings)
{
    ck_assert(gpgpusim("-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32 -gpgpu_tex_cache:l1 N:4:128:256,L:R:m:N:L,T:512:8,128:2\n"
                       "-gpgpu_cache:dl2 S:32:128:24,F:B:m:L:P,A:192:4,32:0,32 -gpgpu_cache:dl1PrefL1 N:32:128:4,L:L:m:N:H,S:64:8,8"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert(c.l1d.present && c.l1d.kind == TIMING_CACHE_SECTORED);
    ck_assert_uint_eq(c.l1d.sets, 4);
    ck_assert_uint_eq(c.l1d.assoc, 64);
    ck_assert_int_eq(c.l1d.write, TIMING_WRITE_THROUGH);
    ck_assert_int_eq(c.l1d.write_allocate, TIMING_LAZY_FETCH);
    ck_assert_uint_eq(c.l1d.mshrs, 512);
    ck_assert_uint_eq(c.l1d.port, 32);
    ck_assert_int_eq(c.l1t.mshr, TIMING_MSHR_SECTOR_FIFO);
    ck_assert_uint_eq(c.l1t.result_queue, 2);
    ck_assert_int_eq(c.l2.replace, TIMING_REPLACE_FIFO);
    ck_assert_int_eq(c.l2.index, TIMING_SET_IPOLY);
    ck_assert_int_eq(c.l1d_prefer_l1.index, TIMING_SET_FERMI);
    ck_assert(gpgpusim("-gpgpu_cache:dl1 none"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert(!c.l1d.present);
}
END_TEST

static const struct bad { const char *text, *place, *rule; } bad_gpgpusim[] = {
    {"-gpgpu_cache:dl1 S:4:128", "t.config:1:25: -gpgpu_cache:dl1", "a field is missing"},
    {"-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L", ":1:38: ", "part <MSHR kind>:<entries>:<requests in one> is missing"},
    {"-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L:L,A:512:8,16:0,32", ":1:39: ", "one field too many"},
    {"-gpgpu_cache:dl1 S:4:128:64,L:Q:m:L:L,A:512:8,16:0,32", ":1:31: ", "write-back (B)"},
    {"-gpgpu_cache:dl1 S:4:x:64,L:T:m:L:L,A:512:8,16:0,32", ":1:22: ", "l1d.line cannot be 'x'"},
    {"-gpgpu_cache:dl1 S:4:64:64,L:T:m:L:L,A:512:8,16:0,32", ":1:22: ", "a sectored line has 128 bytes"},
    {"-gpgpu_cache:dl1 N:3:64:64,L:T:m:N:L,A:512:8,16:0,32", ":1:20: ", "sets is a power of two"},
    {"-gpgpu_cache:dl1 N:4:64:64,L:T:m:N:H,A:512:8,16:0,32", ":1:20: ", "Fermi hash is made for 32 or 64 sets"},
    {"-gpgpu_cache:dl2 N:4:64:64,L:B:f:N:L,A:512:8,16:0,32", ":1:32: ", "cannot wait for the reply"},
    {"-gpgpu_cache:dl1 N:4:64:64,L:T:f:L:L,A:512:8,16:0,32", ":1:32: ", "lazy-fetch need a line"},
    {"-gpgpu_tex_cache:l1 N:4:128:256,L:R:m:N:L,T:512:8,128", ":1:21: ", "result queue"},
    {"-gpgpu_clock_domains 1:2:3", ":1:27: ", "takes 4 values, not 3"},
    {"-gpgpu_clock_domains 1:2:3:4:5", ":1:30: ", "at most 4 values"},
    {"-gpgpu_clock_domains 1:2:fast:4", ":1:26: ", "clock.l2 cannot be 'fast'; it is a number from 1 to 100000"},
    {"-gpgpu_n_clusters 0", ":1:19: ", "-gpgpu_n_clusters cannot be '0'; it is a whole number from 1 to 4096"},
    {"-gpgpu_n_clusters", ":1:1: ", "needs a value"},
    {"-gpgpu_n_clusters -gpgpu_n_mem 4", ":1:1: ", "needs a value"},
    {"word", ":1:1: ", "is no option"},
    {"-gpgpu_scheduler best", ":1:18: ", "there is no scheduler 'best'"},
    {"-gpgpu_scheduler two_level_active:6", ":1:36: ", "has 3 values"},
    {"-gpgpu_scheduler lrr:6", ":1:21: ", "has no more values"},
    {"-gpgpu_dram_timing_opt nbk=16:CCD=1:XYZ=3", ":1:37: ", "there is no timing 'XYZ'"},
    {"-gpgpu_dram_timing_opt nbk=16:CCD=1:CCD=3", ":1:37: ", "CCD is given twice"},
    {"-gpgpu_dram_timing_opt nbk=16:CCD=1", ":1:36: ", "RRD is missing"},
    {"-gpgpu_dram_timing_opt 16:1:3:12:28:12:40:12:2:3:10:4:2:3:9", ":1:59: ", "at most 14"},
    {"-gpgpu_mem_addr_mapping dramid@8;0000", ":1:38: ", "letters for 4"},
    {"-gpgpu_mem_addr_mapping dramid@x;0000", ":1:32: ", "channel's bit"},
    {"-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RRRBCCCB.CCCSSSQS", ":1:103: ", "'Q' is none of"},
    {"-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS", ":1:25: ", "more bank bits"},
    {"-gpgpu_shmem_option 0,8,4", ":1:25: ", "ascending"},
    {"-gpgpu_n_sub_partition_per_mchannel 3", ":1:37: ", "slices of a channel are a power of two"},
    {"-dram_bnk_indexing_policy 7", ":1:27: ", "linear (0), xor (1), ipoly (2)"},
    {"-gpgpu_sub_core_model 1 -gpgpu_num_sched_per_core 4", ":1:51: ", "every width that is used equals"},
    {"-gpgpu_num_dp_units 2 -gpgpu_pipeline_widths 4,0,0,4,4,4,0,0,4,4,8", ":1:48: ", "need at least one entry"},
    {"-gpgpu_adaptive_cache_config 1", ":1:30: ", "has a size"},
    {"-specialized_unit_2 1,4,4,4,4,TEX", ":1:21: ", "without gaps"},
    {"-specialized_unit_1 1,4,4,4,4,BRA -trace_opcode_latency_initiation_spec_op_1 5,1", ":1:78: ", "depth of the unit"},
    {"-gpgpu_scheduler \"lrr", ":1:18: ", "never closed"},
    {"-config nowhere.config", ":1:9: ", "cannot be read"},
    {"-icnt_subnets 99999999999999999999", ":1:15: ", "a whole number from 1 to 2"},
};

START_TEST(bad_gpgpusim_values)
{
    const struct bad *b = &bad_gpgpusim[_i];
    gpgpusim(b->text);
    enum status st = check();
    print_notes(st == ST_INVALID_VALUE && noted(b->place) && noted(b->rule));
    ck_assert_msg(st == ST_INVALID_VALUE, "'%s' passed", b->text);
    ck_assert_msg(noted(b->place), "%s", b->place);
    ck_assert_msg(noted(b->rule), "%s", b->rule);
}
END_TEST

START_TEST(all_mistakes_at_once)
{
    gpgpusim("-gpgpu_n_clusters 0\n-gpgpu_n_mem x\n  -gpgpu_cache:dl1 S:4:y:64,L:Z:m:L:L,A:512:8,16:0,32");
    struct error err;
    ck_assert_int_eq(timing_settings_check(s, &c, &err), ST_INVALID_VALUE);
    ck_assert_ptr_nonnull(strstr(err.text, "test.config:1:19: -gpgpu_n_clusters cannot be '0'"));
    ck_assert_ptr_nonnull(strstr(err.text, "test.config:2:14:"));
    ck_assert_ptr_nonnull(strstr(err.text, "\n      -gpgpu_cache:dl1 S:4:y:64,L:Z:m:L:L,A:512:8,16:0,32\n                           ^"));
    ck_assert_ptr_nonnull(strstr(err.text, "test.config:3:31:"));
}
END_TEST

START_TEST(lists)
{
    ck_assert(gpgpusim("-gpgpu_scheduler two_level_active:5:0:1 -gpgpu_runtime_stat 500:1f -gpgpu_dram_partition_queues 1:2:3:4\n"
                       "-gpgpu_shmem_option 0,8,16,32,64,96 -gpgpu_dram_timing_opt 16:2:8:12:21:13:34:9:4:5:13\n"
                       "-gpgpu_clock_domains 1365:1365:1365:3500.5 -dram_write_queue_size 64:56:32"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_int_eq(c.issue.policy, TIMING_TWO_LEVEL);
    ck_assert_uint_eq(c.issue.active_warps, 5);
    ck_assert_uint_eq(c.sample.every, 500);
    ck_assert_uint_eq(c.sample.flags, 0x1f);
    ck_assert_uint_eq(c.mem.queue_out, 4);
    ck_assert_uint_eq(c.smem.options.n, 6);
    ck_assert_uint_eq(c.smem.options.at[5], 96);
    ck_assert_uint_eq(c.dram.tWR, 13);
    ck_assert_uint_eq(c.dram.bank_groups, 1);
    ck_assert(c.clock.dram > 3500.4 && c.clock.dram < 3500.6);
    ck_assert_uint_eq(c.dram.write_queue_low, 32);
    ck_assert(gpgpusim("-gpgpu_runtime_stat 700 -gpgpu_scheduler warp_limiting:2:16"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.sample.every, 700);
    ck_assert_uint_eq(c.sample.flags, 0);
    ck_assert_int_eq(c.issue.policy, TIMING_LIMITED);
    ck_assert_uint_eq(c.issue.limit, 16);
}
END_TEST

START_TEST(address_masks)
{
    ck_assert(gpgpusim("-gpgpu_n_mem 12 -gpgpu_dram_timing_opt nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10\n"
                       "-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_int_eq(c.mem.map.channel_bit, 8);
    ck_assert_uint_eq(c.mem.map.burst, 0x1f);
    ck_assert_uint_eq(c.mem.map.bank, 0x7100);
    ck_assert_uint_eq(c.mem.map.column, 0xee0);
    ck_assert_uint_eq(c.mem.map.row, 0xfff8000);
    ck_assert(c.derived.channel_gap);
    ck_assert(gpgpusim("-gpgpu_n_mem 8 -gpgpu_mem_addr_mapping 00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCDD.DCCSSSSS"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_int_eq(c.mem.map.channel_bit, -1);
    ck_assert_uint_eq(c.mem.map.channel, 0x380);
    ck_assert_uint_eq(c.derived.channel_bits, 3);
}
END_TEST

/* ---- files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

START_TEST(files_name_files)
{
    char dir[] = "/tmp/heddle_config_XXXXXX", path[100];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/more.config", dir);
    write_file(path, "-gpgpu_n_mem 12 -network_mode 1 -inter_config_file net.icnt");
    snprintf(path, sizeof path, "%s/net.icnt", dir);
    write_file(path, "// a network\nuse_map = 0; flit_size = 40 ; // bytes\n\ntopology = fly;\nk = 42;\nn=1;\nvc_buf_size = 256;\npacket_size ={{1,2},{10}};\n"
                     "strange_key = 1;\ninternal_speedup  = 2.0;\n");
    snprintf(path, sizeof path, "%s/gpgpusim.config", dir);
    write_file(path, "-gpgpu_n_clusters 30\n-config more.config\n-config more.config\n");
    ck_assert(timing_settings_file(s, path));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.mem.channels, 12);
    ck_assert_uint_eq(c.noc.booksim_flit_bytes, 40);
    ck_assert_uint_eq(c.noc.vc_buffer, 256);
    ck_assert_uint_eq(c.noc.k, 42);
    ck_assert(noted("without effect here: strange_key"));
    write_file(path, "-config gpgpusim.config");                  /* itself */
    ck_assert(!timing_settings_file(s, path));
    ck_assert(noted("deep"));
    ck_assert(!timing_settings_file(s, dir));
    ck_assert(noted("cannot be read: Is a directory"));
    static const char *const names[] = {"more.config", "net.icnt", "gpgpusim.config"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}
END_TEST

/* The configurations of GPGPU-Sim and Accel-Sim themselves, where they are at hand. */
START_TEST(tested_directories)
{
    static const char *const dirs[] = {"SM2_GTX480", "SM3_KEPLER_TITAN", "SM6_TITANX", "SM75_RTX2060", "SM75_RTX2060_S",
                                       "SM7_GV100", "SM7_QV100", "SM7_TITANV", "SM86_RTX3070"};
    char path[200];
    snprintf(path, sizeof path, "../shared/reference/configs/%s/gpgpusim.config", dirs[_i]);
    if (access(path, R_OK) != 0) {
        printf("skipped: %s is not there\n", path);
        return;
    }
    ck_assert(timing_settings_part(s, "h100"));
    ck_assert(timing_settings_file(s, path));
    snprintf(path, sizeof path, "../shared/reference/configs/%s/trace.config", dirs[_i]);
    if (access(path, R_OK) == 0)
        ck_assert(timing_settings_file(s, path));
    enum status st = check();
    print_notes(st == ST_OK);
    ck_assert_int_eq(st, ST_OK);
    ck_assert_uint_le(timing_settings_notes(s), 2);               /* no power model; the list of what is not modelled */
    ck_assert_uint_ne(c.derived.sms, 132);
}
END_TEST

START_TEST(what_l1_does_not_do_is_said)
{
    ck_assert(own("inherit = v100\nl1d = \"S:4:128:64,L:T:m:F:L,A:512:8,16:0,32\"\n"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert(noted("l1d.write_allocate") && noted("never fetched"));
    ck_assert_uint_eq(timing_settings_notes(s), 1);
}
END_TEST

/* Every option of GPGPU-Sim and Accel-Sim is known, where their list is at hand: modelled, or accepted. -config is the reader's own business. */
START_TEST(every_option_of_the_list_is_known)
{
    FILE *f = fopen("../shared/reference/knobs.tsv", "r");
    char line[4000], text[300], value[200];
    unsigned n = 0;
    if (!f) {
        printf("skipped: the list of options is not there\n");
        return;
    }
    while (fgets(line, sizeof line, f)) {
        char name[100] = "", type[20] = "";
        value[0] = 0;
        if (line[0] != '-' || sscanf(line, "%99[^\t]\t%19[^\t]\t%199[^\t]", name, type, value) < 2 || strcmp(name, "-config") == 0)
            continue;
        snprintf(text, sizeof text, "%s %s\n", name, strcmp(type, "string") == 0 && *value && !strchr(value, ' ') ? value : "1");
        gpgpusim(text);                        /* the value may be no good: what counts is that the name is known */
        n++;
    }
    fclose(f);
    for (size_t i = 0; i < timing_settings_notes(s); i++)
        ck_assert_msg(!strstr(timing_settings_note(s, i, NULL), "unknown"), "%s", timing_settings_note(s, i, NULL));
    ck_assert_uint_gt(n, 240);
}
END_TEST

/* ---- our own language ---- */

START_TEST(own_language)
{
    ck_assert(own("# a part\ninherit = v100\nsm.clusters = 4\nclock.core = 1.5 GHz  # boost\nsmem.size = 64 KB\nl1d.assoc=32\r\n"
                  "gpu.name = \"my # GPU\"\ndram.tRCD = 14 clocks\nlsu.l1_latency = 30 cycles\nissue.policy = lrr\nl2 = \"S:64:128:16,L:B:m:L:P,A:192:4,32:0,32\"\n"
                  "mem.l2_latency = 7 cycles\nissue.sub_cores = yes\n"));
    ck_assert_int_eq(check(), ST_OK);
    ck_assert_uint_eq(c.sm.clusters, 4);
    ck_assert(c.clock.core > 1499.9 && c.clock.core < 1500.1);
    ck_assert_uint_eq(c.smem.size, 65536);
    ck_assert_uint_eq(c.l1d.assoc, 32);
    ck_assert_str_eq(c.gpu.name, "my # GPU");
    ck_assert_uint_eq(c.dram.tRCD, 14);
    ck_assert_uint_eq(c.l2.sets, 64);
    ck_assert_uint_eq(c.mem.channels, 64);
    char origin[100];
    ck_assert_str_eq(timing_knob_origin(s, (size_t)timing_knob_find("l1d.assoc"), origin, sizeof origin), "test.conf:6");
    timing_knob_origin(s, (size_t)timing_knob_find("mem.channels"), origin, sizeof origin);
    ck_assert_int_eq(strncmp(origin, "v100.conf:", 10), 0);
}
END_TEST

static const struct bad bad_own[] = {
    {"sm.clusters", "test.conf:1:1: ", "this is no setting"},
    {"\n  sm.cluster = 3", "test.conf:2:3: ", "did you mean 'sm.clusters'?"},
    {"clock.core = 3 KB", "test.conf:1:16: ", "'KB' is not its unit; that is MHz"},
    {"sm.clusters = 3 MHz", "test.conf:1:17: ", "that is none"},
    {"sm.clusters = 3 4", "test.conf:1:15: ", "cannot be '3 4'"},
    {"sm.clusters =", "test.conf:1:14: ", "cannot be ''"},
    {"sm.clusters = 5000", "test.conf:1:15: ", "from 1 to 4096"},
    {"lsu.adaptive = maybe", "test.conf:1:16: ", "on or off"},
    {"sm.clusters = 3\ninherit = v100", "test.conf:2:1: ", "inherit comes before"},
    {"inherit = v101", "test.conf:1:11: ", "cannot be read"},
    {"dram.tRC = 3 clocks", "test.conf:1:12: dram.tRC = 3 with dram.tRAS = 21: ", "a row is open for tRAS"},
    {"smem.banks = 24", "test.conf:1:14: ", "power of two"},
    {"dram.write_queue = on\ndram.write_queue_high = 40", "test.conf:2:25: ", "within the queue"},
    {"l1i.write = write-back", "test.conf:1:13: ", "read-only"},
    {"l2.present = off", "test.conf:1:14: ", "needs an L2 slice"},
};

START_TEST(bad_own_values)
{
    const struct bad *b = &bad_own[_i];
    own(b->text);
    enum status st = check();
    print_notes(st == ST_INVALID_VALUE && noted(b->place) && noted(b->rule));
    ck_assert_msg(st == ST_INVALID_VALUE, "'%s' passed", b->text);
    ck_assert_msg(noted(b->place), "%s", b->place);
    ck_assert_msg(noted(b->rule), "%s", b->rule);
}
END_TEST

START_TEST(single_values)
{
    char origin[100];
    ck_assert(timing_settings_set(s, "sm.clusters", "3", "command line"));
    ck_assert(timing_settings_set(s, "-gpgpu_n_mem", "0x4", "HEDDLE_OPTS"));
    ck_assert(timing_settings_set(s, "clock.core", "2 GHz", "command line"));
    ck_assert(!timing_settings_set(s, "sm.klusters", "3", "command line"));
    ck_assert(noted("command line: unknown setting 'sm.klusters'"));
    ck_assert(!timing_settings_set(s, "sm.clusters", "many", "command line"));
    ck_assert(noted("command line: sm.clusters cannot be 'many'"));
    ck_assert_int_eq(check(), ST_INVALID_VALUE);
    ck_assert_uint_eq(c.sm.clusters, 3);
    ck_assert_uint_eq(c.mem.channels, 4);
    ck_assert_str_eq(timing_knob_origin(s, (size_t)timing_knob_find("sm.clusters"), origin, sizeof origin), "command line");
}
END_TEST

START_TEST(parts)
{
    static const struct { const char *name; uint32_t sms; uint64_t l2; double gb_s; } want[] = {     /* data sheets */
        {"v100", 80, 6291456, 898}, {"t4", 40, 4194304, 320}, {"rtx2060", 30, 3145728, 336}, {"rtx3070", 46, 4194304, 448},
        {"a40", 84, 6291456, 696}, {"l40", 142, 100663296, 864},
        {"a100", 108, 41943040, 1555}, {"h100", 132, 52428800, 3352}, {"h200", 132, 62914560, 4800},
    };
    ck_assert_str_eq(timing_part((size_t)_i), want[_i].name);
    ck_assert(timing_settings_part(s, want[_i].name));
    enum status st = check();
    print_notes(st == ST_OK);
    ck_assert_int_eq(st, ST_OK);
    ck_assert_uint_eq(timing_settings_notes(s), 0);
    ck_assert_uint_eq(c.derived.sms, want[_i].sms);
    ck_assert_uint_eq(c.derived.l2_bytes, want[_i].l2);
    ck_assert_uint_eq(c.derived.dram_atom, 32);
    double gb_s = c.clock.dram * c.dram.data_rate * c.dram.bus_bytes * c.mem.chips * c.mem.channels / 1000;
    ck_assert_msg(gb_s > want[_i].gb_s * 0.99 && gb_s < want[_i].gb_s * 1.01, "%g GB/s", gb_s);
    /* the L1 data cache is what the largest share of shared memory leaves */
    ck_assert_uint_eq(c.l1d.sets * c.l1d.line * c.l1d.assoc, (c.lsu.unified - c.smem.options.at[c.smem.options.n - 1]) * 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timing config");
    TCase *t = tcase_create("config");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, defaults_are_a_machine);
    tcase_add_test(t, printed_values_read_back);
    tcase_add_test(t, gpgpusim_words);
    tcase_add_test(t, gpgpusim_quotes);
    tcase_add_test(t, gpgpusim_traps);
    tcase_add_test(t, gpgpusim_accepted);
    tcase_add_test(t, gpgpusim_unknown);
    tcase_add_test(t, gpgpusim_stands_alone);
    tcase_add_test(t, gpgpusim_over_a_part);
    tcase_add_test(t, cache_strings);
    tcase_add_test(t, all_mistakes_at_once);
    tcase_add_test(t, lists);
    tcase_add_test(t, address_masks);
    tcase_add_test(t, files_name_files);
    tcase_add_test(t, own_language);
    tcase_add_test(t, single_values);
    tcase_add_loop_test(t, bad_gpgpusim_values, 0, sizeof bad_gpgpusim / sizeof *bad_gpgpusim);
    tcase_add_loop_test(t, bad_own_values, 0, sizeof bad_own / sizeof *bad_own);
    tcase_add_loop_test(t, tested_directories, 0, 9);
    tcase_add_test(t, every_option_of_the_list_is_known);
    tcase_add_test(t, what_l1_does_not_do_is_said);
    tcase_add_loop_test(t, parts, 0, 9);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
