/* Rules of the parts that are only there when a configuration asks for them. */

#include "timing/coalesce.h"
#include "timing/dram.h"
#include "tests/unit/suite.h"

static const struct dram_spec hbm = {.banks = 16, .groups = 4, .group_low_bits = true, .ccd = 1, .ccdl = 2, .rrd = 3, .rcd = 12, .ras = 28, .rp = 12, .rc = 40, .cl = 12, .wl = 2,
                                     .cdlr = 3, .wr = 10, .rtpl = 3, .burst_cycles = 1, .atom_bytes = 32, .order = &dram_frfcfs, .queue = 64, .return_queue = 192, .dual_bus = true};

/* One word of each phase is free for all who want it; who shares another takes turns. */
START_TEST(one_word_is_broadcast)
{
    uint64_t address[32];
    struct lanes l = {.address = address, .mask = UINT32_MAX, .bytes = 4};
    for (unsigned sharing = 1; sharing <= 32; sharing *= 2) {
        for (unsigned i = 0; i < 32; i++)
            address[i] = i / sharing * 4;
        ck_assert_uint_eq(bank_cycles(&l, 32), 1);
        ck_assert_uint_eq(bank_cycles_of_one(&l, 32), sharing == 32 ? 1 : sharing);
    }
    for (unsigned i = 0; i < 32; i++)
        address[i] = i < 16 ? 0 : i * 4 + 4096;        /* the shared word is in a bank of its own */
    ck_assert_uint_eq(bank_cycles_of_one(&l, 32), 1);
}
END_TEST

/* Reads and writes in turn, in order: without turnaround they go as if all were reads. */
START_TEST(turnaround_can_be_left_out)
{
    uint64_t took[2];
    for (unsigned k = 0; k < 2; k++) {
        struct dram_spec spec = hbm;
        struct dram d;
        uint64_t id;
        spec.order = &dram_fcfs;
        spec.no_turnaround = k;
        ck_assert_int_eq(dram_create(&d, &spec, NULL), ST_OK);
        for (uint32_t sent = 0; d.stats.reads + d.stats.writes < 400;) {
            while (sent < 400 && dram_room(&d, sent & 1)) {
                dram_push(&d, &(struct dram_request){.id = sent, .bank = sent / 2 % 2, .write = sent & 1});
                sent++;
            }
            dram_tick(&d);
            while (dram_returned(&d, &id))
                ;
            ck_assert_uint_lt(d.cycle, 100000);
        }
        took[k] = d.cycle;
        dram_destroy(&d);
    }
    ck_assert_uint_ge(took[0], 200 * (hbm.wl + hbm.burst_cycles + hbm.cdlr));
    ck_assert_uint_le(took[1], 400 * hbm.ccdl + 100);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timing options");
    TCase *c = tcase_create("options");
    tcase_add_test(c, one_word_is_broadcast);
    tcase_add_test(c, turnaround_can_be_left_out);
    suite_add_tcase(s, c);
    return suite_run(s);
}
