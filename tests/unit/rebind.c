/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs go to vfio-pci and come back as they were; when any step fails, whichever it is, or the command dies at any moment,
 * nothing is left half way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../tools/nof/bind/rebind.h"
#include "fake_kernel.h"
#include "../../tools/nof/bind/holds.h"

#define CHANGES_MOST 200u
#define PAGES_MB 64u

static const struct nof_rebind_options plain = {.pages_mb = PAGES_MB},
                                       without_iommu = {.noiommu = true, .pages_mb = PAGES_MB};

static const struct nof_rebind_options alone = {.pages_mb = 0};

struct world {
    struct fake_kernel k;
    struct nof_pci_nic d[FAKE_NICS];
    const struct nof_rebind_options *options;
    char *free_state, *bound_state; /* as the kernel has them before, and bound */
};

static void read_devices(struct world *w)
{
    for (unsigned i = 0; i < FAKE_NICS; i++)
        (void)nof_pci_nic_read(&w->k.m, w->k.nic[i].address, &w->d[i]);
}

static bool take(struct world *w)
{
    read_devices(w);
    return nof_rebind_take(&w->k.m, w->d, FAKE_NICS, w->options);
}

static bool give(struct world *w)
{
    read_devices(w);
    return nof_rebind_give(&w->k.m, w->d, FAKE_NICS);
}

static void make(struct world *w, bool iommu)
{
    fake_kernel_make(&w->k, iommu);
    w->options = iommu ? &plain : &without_iommu;
    w->free_state = fake_kernel_state(&w->k);
    if (!take(w)) {
        fflush(w->k.m.err);
        fail_msg("the first bind failed: %s", w->k.said);
    }
    w->bound_state = fake_kernel_state(&w->k);
    assert_true(give(w));
    fake_kernel_heal(&w->k);
}

static void end(struct world *w)
{
    fake_kernel_remove(&w->k);
    free(w->free_state);
    free(w->bound_state);
}

static bool same(struct world *w, const char *state)
{
    char *now = fake_kernel_state(&w->k);
    bool is = strcmp(now, state) == 0;

    free(now);
    return is;
}

static void assert_state(struct world *w, const char *state)
{
    char *now = fake_kernel_state(&w->k);

    fflush(w->k.m.err);
    if (strcmp(now, state) != 0)
        print_message("fault %d at change %u; said:\n%s", (int)w->k.fault, w->k.fault_at, w->k.said);
    assert_string_equal(now, state);
    free(now);
}

static void there_and_back(bool iommu)
{
    struct world w;

    make(&w, iommu);
    for (unsigned i = 0; i < FAKE_NICS; i++) {
        char line[80];

        snprintf(line, sizeof(line), "%s driver=vfio-pci override=vfio-pci  up=0", w.k.nic[i].address);
        assert_non_null(strstr(w.bound_state, line));
    }
    /* 32 pages of 2 MB for each, 8 were there and unused; the mode is on only where it was asked for. */
    assert_non_null(strstr(w.bound_state, iommu ? "pages=96 noiommu=N kept=3" : "pages=96 noiommu=Y kept=3"));
    assert_state(&w, w.free_state);
    end(&w);
}

static void devices_go_to_vfio_and_come_back_as_they_were(void **state)
{
    (void)state;
    there_and_back(true);
    there_and_back(false);
}

/* Every change fails once: the devices are as they were, nothing is remembered, and the next try succeeds. */
static void take_with(bool iommu, enum fake_fault fault)
{
    bool done = false;
    unsigned at, late = 0;

    for (at = 1; !done && at < CHANGES_MOST; at++) {
        struct world w;

        make(&w, iommu);
        w.k.fault = fault;
        w.k.fault_at = at;
        done = take(&w);
        if (done) {
            assert_state(&w, w.bound_state);
            assert_true(w.k.changes < at);
        } else {
            fflush(w.k.m.err);
            assert_non_null(strstr(w.k.said, ": ")); /* a sentence */
            if (fault == FAKE_LATE && strstr(w.k.said, "when that process has ended: nof unbind") != NULL) {
                assert_null(strstr(w.k.said, "everything is as it was"));
                late++;
                fake_kernel_heal(&w.k);
                assert_true(give(&w));
            }
            assert_state(&w, w.free_state);
            fake_kernel_heal(&w.k);
            assert_true(take(&w));
            assert_state(&w, w.bound_state);
        }
        end(&w);
    }
    assert_true(done && at > 20);
    assert_true(fault != FAKE_LATE || late == 3 * FAKE_NICS); /* override, unbind and probe of each */
}

static void a_bind_that_fails_at_any_step_restores(void **state)
{
    (void)state;
    take_with(true, FAKE_FAILS);
    take_with(false, FAKE_FAILS);
}

/* The kernel answers too late, after it has done it: unbind finds what the device was. */
static void a_bind_that_is_answered_late_restores(void **state)
{
    (void)state;
    take_with(true, FAKE_LATE);
    take_with(false, FAKE_LATE);
}

/* Nothing can be changed any more: said so, remembered, and unbind does the rest when it can. */
static void what_cannot_be_restored_is_said_and_remembered(void **state)
{
    bool done = false;

    (void)state;
    for (unsigned at = 1; !done && at < CHANGES_MOST; at++) {
        struct world w;
        char *left;

        make(&w, true);
        w.k.fault = FAKE_DEAD;
        w.k.fault_at = at;
        done = take(&w);
        left = fake_kernel_state(&w.k);
        fflush(w.k.m.err);
        if (!done && strcmp(left, w.free_state) != 0)
            assert_true(strstr(w.k.said, "nof unbind") != NULL || strstr(w.k.said, "echo ") != NULL ||
                        strstr(w.k.said, "cannot be removed") != NULL);
        fake_kernel_heal(&w.k);
        if (!done && strstr(left, "kept=0") == NULL) {
            assert_true(give(&w));
            assert_state(&w, w.free_state);
        }
        free(left);
        end(&w);
    }
    assert_true(done);
}

/* Of LeakSanitizer, where the program is built with it. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* What a process that is killed has allocated nobody frees. */
static bool take_until_killed(struct world *w)
{
    volatile bool done = false;

    if (__lsan_disable != NULL)
        __lsan_disable();
    if (setjmp(w->k.crash) == 0)
        done = take(w);
    if (__lsan_enable != NULL)
        __lsan_enable();
    return done;
}

/* The command is killed before any of its changes; then the user types unbind, or bind again. */
static void a_bind_that_is_killed_anywhere_is_taken_back_by_unbind(void **state)
{
    volatile bool done = false;

    (void)state;
    for (volatile unsigned at = 1; !done && at < CHANGES_MOST; at++) {
        struct world w;

        for (volatile unsigned way = 0; way < 2 * 3; way++) {
            bool again = way % 2 == 1;

            make(&w, way / 2 != 1);
            if (way / 2 == 2)
                w.options = &alone;
            w.k.fault = FAKE_CRASH;
            w.k.fault_at = at;
            done = take_until_killed(&w);
            fake_kernel_heal(&w.k);
            if (again) {
                assert_true(take(&w));
                assert_true(w.options == &alone || same(&w, w.bound_state));
            }
            assert_true(give(&w));
            assert_state(&w, w.free_state);
            end(&w);
        }
    }
    assert_true(done);
}

/* Each change of unbind fails once. Until the devices have their drivers, all go back to vfio-pci; from there on what does
 * not work is said, with what to type, and the rest is done. */
static void an_unbind_that_fails_at_any_step_restores(void **state)
{
    bool clean = false;
    unsigned restored = 0, told = 0;

    (void)state;
    for (unsigned at = 1; !clean && at < CHANGES_MOST; at++) {
        struct world w;
        bool good;

        make(&w, at % 2 == 0);
        assert_true(take(&w));
        fake_kernel_heal(&w.k);
        w.k.fault = FAKE_FAILS;
        w.k.fault_at = at;
        good = give(&w);
        clean = good && w.k.changes < at;
        fflush(w.k.m.err);
        if (!good) {
            assert_state(&w, w.bound_state);
            restored++;
            fake_kernel_heal(&w.k);
            assert_true(give(&w));
            assert_state(&w, w.free_state);
        } else if (!clean) {
            assert_true(strstr(w.k.said, "`ip ") != NULL || strstr(w.k.said, "echo ") != NULL ||
                        strstr(w.k.said, "cannot be removed") != NULL);
            told++;
        } else {
            assert_state(&w, w.free_state);
        }
        end(&w);
    }
    assert_true(clean);
    assert_true(restored >= 9 &&
                told >= 9); /* unbind, override and probe of three; interfaces and notes of three */
}

/* What a bind before has left is not undone by one that cannot begin. */
static void a_bind_that_cannot_begin_leaves_what_is_remembered(void **state)
{
    struct world w;
    char *left;

    (void)state;
    make(&w, true);
    w.k.fault = FAKE_CRASH;
    w.k.fault_at = 8;
    assert_false(take_until_killed(&w)); /* it has more changes */
    fake_kernel_heal(&w.k);
    left = fake_kernel_state(&w.k);
    assert_non_null(strstr(left, "kept=1"));
    w.k.fault = FAKE_FAILS;
    w.k.fault_at = w.k.changes + 1; /* `ip` */
    assert_false(take(&w));
    assert_state(&w, left);
    free(left);
    fake_kernel_heal(&w.k);
    assert_true(give(&w));
    assert_state(&w, w.free_state);
    end(&w);
}

/* It is unplugged between any two steps: the others are as they were, nothing is remembered of it, and no wait is long. */
static void a_device_that_is_unplugged_on_the_way_is_said_and_forgotten(void **state)
{
    bool done = false;

    (void)state;
    for (unsigned at = 1; !done && at < CHANGES_MOST; at++) {
        struct world w;
        char *now;

        make(&w, true);
        w.k.fault = FAKE_GONE;
        w.k.fault_at = at;
        done = take(&w);
        now = fake_kernel_state(&w.k);
        if (!done) {
            fflush(w.k.m.err);
            assert_non_null(strstr(w.k.said, "0000:03:00.0"));
            assert_non_null(strstr(now, "kept=0"));
            assert_non_null(strstr(now, "pages=8 "));
            /* from the second device on, the state before */
            assert_non_null(strstr(w.free_state, strstr(now, "0000:04:00.0")));
        } else {
            done = w.k.changes < at; /* it went when nothing was to be done to it any more */
        }
        free(now);
        end(&w);
    }
    assert_true(done);
}

/* Unplugged when it was bound: what it had of the machine comes back. */
static void a_bound_device_that_is_unplugged_is_forgotten(void **state)
{
    struct world w;
    char *now;

    (void)state;
    make(&w, true);
    read_devices(&w);
    assert_true(nof_rebind_take(&w.k.m, w.d, 1, &plain));
    assert_false(nof_rebind_forget(&w.k.m, "0000:03:00.0")); /* it is there */
    assert_false(nof_rebind_forget(&w.k.m, "0000:09:00.0")); /* it never was */
    fake_kernel_unplug(&w.k, 0);
    assert_true(nof_rebind_forget(&w.k.m, "0000:03:00.0"));
    assert_false(nof_rebind_forget(&w.k.m, "0000:03:00.0"));
    now = fake_kernel_state(&w.k);
    assert_non_null(strstr(now, "pages=8 noiommu=N kept=0"));
    free(now);
    end(&w);
}

static void vfio_that_takes_no_device_leaves_them_where_they_were(void **state)
{
    struct world w;

    (void)state;
    make(&w, true);
    w.k.vfio_refuses = true;
    assert_false(take(&w));
    assert_state(&w, w.free_state);
    assert_non_null(strstr(w.k.said, "vfio-pci does not take it"));
    end(&w);
}

static void too_few_hugepages_leave_everything_as_it_was(void **state)
{
    struct world w;

    (void)state;
    make(&w, true);
    w.k.pages_most = 70; /* enough for two of the three */
    assert_false(take(&w));
    assert_state(&w, w.free_state);
    assert_non_null(strstr(w.k.said, "more hugepages of 2048 kB are needed"));
    end(&w);
}

/* The module of the own driver is loaded again when it has gone. */
static void a_driver_whose_module_was_unloaded_is_loaded(void **state)
{
    struct world w;

    (void)state;
    make(&w, true);
    w.k.loses_driver = true;
    assert_true(take(&w));
    assert_true(give(&w));
    assert_state(&w, w.free_state);
    end(&w);
}

/* Somebody else bound it (driverctl, by hand): the kernel chooses. */
static void what_was_bound_by_others_goes_to_the_kernels_choice(void **state)
{
    struct world w;
    struct nof_system *m;

    (void)state;
    make(&w, true);
    m = &w.k.m;
    assert_int_equal(nof_system_write(m, "vfio-pci", NOF_PCI_DIR "/driver_override", "0000:03:00.0"), 0);
    assert_int_equal(nof_system_write(m, "0000:03:00.0", "/sys/bus/pci/drivers/e1000e/unbind"), 0);
    assert_int_equal(nof_system_write(m, "0000:03:00.0", "/sys/bus/pci/drivers_probe"), 0);
    read_devices(&w);
    assert_true(nof_pci_nic_bound(&w.d[0]));
    assert_true(nof_rebind_give(m, w.d, 1));
    read_devices(&w);
    assert_string_equal(w.d[0].driver, "e1000e");
    end(&w);
}

/* no-IOMMU mode stays while a device needs it, whichever goes first. */
static void no_iommu_mode_ends_with_its_last_device(void **state)
{
    struct world w;
    char *now;

    (void)state;
    make(&w, false);
    read_devices(&w);
    assert_true(nof_rebind_take(&w.k.m, &w.d[0], 1, &without_iommu));
    assert_true(nof_rebind_take(&w.k.m, &w.d[1], 1, &without_iommu));
    read_devices(&w);
    assert_true(nof_rebind_give(&w.k.m, &w.d[0], 1));
    now = fake_kernel_state(&w.k);
    assert_non_null(strstr(now, "noiommu=Y"));
    free(now);
    assert_true(nof_rebind_give(&w.k.m, &w.d[1], 1));
    assert_state(&w, w.free_state);
    end(&w);
}

/* Those beyond the ones that are looked at might carry anything. */
static void a_nic_with_more_interfaces_than_are_looked_at_is_held(void **state)
{
    struct nof_view view = {.links = json_array(), .defaults = json_array()};
    struct world w;
    json_t *holds;

    (void)state;
    make(&w, true);
    for (unsigned i = 0; i <= NOF_PCI_NIC_INTERFACES; i++) {
        char path[160];

        read_devices(&w);
        holds = nof_holds(&w.k.m, &view, &w.d[0]);
        assert_int_equal(json_array_size(holds), i == NOF_PCI_NIC_INTERFACES ? 1 : 0);
        if (i == NOF_PCI_NIC_INTERFACES)
            assert_non_null(strstr(json_string_value(json_object_get(json_array_get(holds, 0), "says")),
                                   "it has 1 interfaces beyond the 16"));
        json_decref(holds);
        snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:03:00.0/net/more%u", w.k.root, i);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    json_decref(view.links);
    json_decref(view.defaults);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nic_with_more_interfaces_than_are_looked_at_is_held),
        cmocka_unit_test(devices_go_to_vfio_and_come_back_as_they_were),
        cmocka_unit_test(a_bind_that_fails_at_any_step_restores),
        cmocka_unit_test(a_bind_that_is_answered_late_restores),
        cmocka_unit_test(what_cannot_be_restored_is_said_and_remembered),
        cmocka_unit_test(a_bind_that_is_killed_anywhere_is_taken_back_by_unbind),
        cmocka_unit_test(an_unbind_that_fails_at_any_step_restores),
        cmocka_unit_test(a_bind_that_cannot_begin_leaves_what_is_remembered),
        cmocka_unit_test(a_device_that_is_unplugged_on_the_way_is_said_and_forgotten),
        cmocka_unit_test(a_bound_device_that_is_unplugged_is_forgotten),
        cmocka_unit_test(vfio_that_takes_no_device_leaves_them_where_they_were),
        cmocka_unit_test(too_few_hugepages_leave_everything_as_it_was),
        cmocka_unit_test(a_driver_whose_module_was_unloaded_is_loaded),
        cmocka_unit_test(what_was_bound_by_others_goes_to_the_kernels_choice),
        cmocka_unit_test(no_iommu_mode_ends_with_its_last_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
