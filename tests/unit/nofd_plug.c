/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs out of options: as many as were asked for, each with what the options say, and nothing of them if one cannot be
 * had. The fabric is real; cores, firmware and DPDK are stand-ins. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "nofd/control/daemon.h"
#include "nofd/plug.h"

static struct nofd d;
static struct nof_nic_config cfg[40];
static struct nofd_wire wire[40];
static unsigned created, destroyed, cores_up, cores_down, crew_ended, nics_of_core[8], ports_opened;
static unsigned fail_nic, fail_core, fail_part; /* the one with this number; UINT_MAX: none */
static uint32_t port_ip;
static const char *refused; /* devargs with this are */
static char err[512];

static int wires_open; /* of devices */

static void close_wire(struct nofd_wire *of)
{
    (void)of;
    wires_open--;
}

static const struct nofd_wire_ops wire_ops = {.close = close_wire};

int nofd_nic_create(struct nofd_nic *nic, unsigned index, const struct nofd_wire *with,
                    const struct nof_nic_config *config, uint64_t now_ns, char *why, size_t why_bytes)
{
    (void)now_ns;
    assert_int_equal(index, created / d.options.cores_per_nic);
    assert_int_equal(with->core, created % d.options.cores_per_nic);
    assert_int_equal(with->ncores, d.options.cores_per_nic);
    if (index == fail_nic || created == fail_part) {
        if (with->ops == &wire_ops)
            with->ops->close(&wire[created]);
        snprintf(why, why_bytes, "no such luck");
        return NOF_ENOMEM;
    }
    nic->index = index;
    nic->core = with->core;
    nic->wire = wire[created] = *with;
    cfg[created++] = *config;
    return NOF_OK;
}

void nofd_nic_destroy(struct nofd_nic *nic)
{
    if (nic->wire.ops == &wire_ops)
        nic->wire.ops->close(&nic->wire);
    destroyed++;
}

int nof_nic_feature_set(struct nof_nic *nic, enum nof_feature feature, uint64_t value)
{
    (void)nic;
    assert_true(feature < NOF_F_IDLE);
    assert_int_equal(value, d.options.feature[feature]);
    return NOF_OK;
}

int nofd_core_init(struct nofd_core *core, unsigned index, struct nofd_nic **nics, unsigned nnics,
                   int main_fd)
{
    (void)main_fd;
    if (index == fail_core) {
        errno = EMFILE;
        return -EMFILE;
    }
    core->nics = nics;
    core->nnics = nics_of_core[index] = nnics;
    cores_up++;
    return 0;
}

int nofd_core_meet(struct nofd_core *core, const struct nofd_core *all, unsigned n)
{
    assert_true(core >= all && core < all + n);
    assert_int_equal(n, cores_up);
    return 0;
}

void nofd_core_fini(struct nofd_core *core)
{
    (void)core;
    cores_down++;
}

void nofd_dma_crew_end(struct nofd_dma_crew *crew)
{
    assert_ptr_equal(crew, &d.crew);
    crew_ended++;
}

int nofd_wire_open_dpdk(struct nofd_wire *of, const struct nof_dpdk_port_config *config, char *why,
                        size_t why_bytes)
{
    if (refused != NULL && strstr(config->devargs, refused) != NULL) {
        snprintf(why, why_bytes, "it does not serve");
        return NOF_ENOTSUP;
    }
    assert_int_equal(config->ncores, d.options.cores_per_nic);
    for (unsigned i = 0; i < config->ncores; i++, of++) {
        memset(of, 0, sizeof(*of));
        of->ops = &wire_ops;
        of->core = i;
        of->ncores = config->ncores;
        of->ip4 = config->ip4 != 0 ? config->ip4 : port_ip;
        of->mtu_bytes = 1500;
        snprintf(of->device_name, sizeof(of->device_name), "%.60s", config->devargs);
        wires_open++;
    }
    ports_opened++;
    return NOF_OK;
}

const char *nof_dpdk_spread_words(enum nof_dpdk_spread spread)
{
    (void)spread;
    return "";
}

const struct nof_dpdk_port_info *nof_dpdk_port_info(const struct nof_dpdk_port *port)
{
    static const struct nof_dpdk_port_info info;

    (void)port;
    return &info;
}

#ifdef NOF_HAVE_EBPF
int nof_steer_object_fd(int *fd_out);

int nof_steer_object_fd(int *fd_out)
{
    (void)fd_out;
    return -1;
}
#endif

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    wires_open = 0;
    created = destroyed = cores_up = cores_down = crew_ended = ports_opened = 0;
    fail_nic = fail_core = fail_part = ~0u;
    port_ip = 0x0a000001;
    refused = NULL;
    d.options.cores = 1;
    d.options.cores_per_nic = 1;
    d.options.max_endpoints = 16;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        d.options.feature[i] = nof_feature_info[i].max;
    return 0;
}

static void nothing_is_left(void)
{
    assert_null(d.nics);
    assert_null(d.cores);
    assert_null(d.fabric);
    assert_int_equal(d.nnics + d.nparts + d.ncores, 0);
    assert_int_equal(destroyed, created);
    assert_int_equal(cores_down, cores_up);
}

static int end(void **state)
{
    (void)state;
    nofd_plug_out(&d);
    nothing_is_left();
    return crew_ended > 0 ? 0 : -1;
}

static int in(void)
{
    return nofd_plug_in(&d, err, sizeof(err));
}

static void every_nic_of_the_fabric_is_its_own(void **state)
{
    (void)state;
    d.options.fabric.nics = 3;
    d.options.ip4[0] = 0x01020304;
    d.options.nips = 1;
    assert_int_equal(in(), 0);
    assert_int_equal(created, 3);
    assert_int_equal(wire[0].ip4, 0x01020304);
    assert_int_equal(wire[2].ip4, 0x0a630001 + 2);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(wire[i].mtu_bytes, 9000);
        assert_int_not_equal(cfg[i].nic_id, 0);
        for (unsigned j = 0; j < i; j++) {
            assert_memory_not_equal(wire[i].mac, wire[j].mac, 6);
            assert_int_not_equal(cfg[i].nic_id, cfg[j].nic_id);
            assert_memory_not_equal(cfg[i].seed, cfg[j].seed, 16);
            assert_int_not_equal(cfg[i].host_id, cfg[j].host_id); /* each is a host */
        }
    }
    assert_int_equal(nics_of_core[0], 3);
    assert_int_equal(d.cores[0].idle.policy, d.options.feature[NOF_F_IDLE]);
    assert_int_equal(d.cores[0].idle.spin_ns, d.options.feature[NOF_F_SPIN] * 1000);
}

static void links_are_as_asked_for(void **state)
{
    (void)state;
    d.options.fabric = (struct nofd_fabric_options){.nics = 2,
                                                    .rate_bps = 1000000,
                                                    .delay_ns = 5,
                                                    .buffer_bytes = 1ull << 40,
                                                    .loss = 0.02,
                                                    .corrupt = 1};
    assert_int_equal(in(), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct nof_fabric_link link = nof_fabric_link(d.fabric, i);

        assert_int_equal(link.rate_bps, 1000000);
        assert_int_equal(link.delay_ns, 5);
        assert_int_equal(link.buffer_bytes, UINT32_MAX);
        assert_int_equal(link.loss_ppm, 20000);
        assert_int_equal(link.corrupt_ppm, 1000000);
        assert_int_equal(cfg[i].window_frames, 0); /* the core's own */
    }
}

static void a_wire_without_delay_has_a_window_that_stays_in_the_cache(void **state)
{
    static const struct {
        uint32_t mtu, frames;
    } windows[] = {{576, 256}, {1500, 256}, {9000, 64}, {0, 64}};

    for (unsigned i = 0; i < 4; i++) {
        if (i > 0) {
            (void)end(state);
            (void)start(state);
        }
        d.options.fabric.nics = 1;
        d.options.mtu_bytes = windows[i].mtu;
        assert_int_equal(in(), 0);
        assert_int_equal(cfg[0].window_frames, windows[i].frames);
    }
}

static void memory_is_for_all_that_can_attach(void **state)
{
    (void)state;
    d.options.fabric.nics = 16;
    d.options.max_endpoints = 64;
    assert_int_equal(in(), 0);
    assert_int_equal(cfg[0].max_peers, 65536); /* 64 with 1024, but not without being asked */
    assert_int_equal(cfg[0].netmem_bytes, 256u << 20);
    assert_int_equal(cfg[0].max_jobs, 64);
    (void)end(state);
    (void)start(state);
    d.options.fabric.nics = 1;
    d.options.max_peers = 7;
    assert_int_equal(in(), 0);
    assert_int_equal(cfg[0].max_peers, 7);
    assert_int_equal(cfg[0].netmem_bytes, 16u << 20);
}

static void network_memory_has_its_bounds(void **state)
{
    static const struct {
        uint64_t bytes;
        int rc;
    } bounds[] = {{16 * 65536 - 1, -1}, {16 * 65536, 0}, {64ull << 30, 0}, {(64ull << 30) + 1, -1}};

    for (unsigned i = 0; i < 4; i++) {
        (void)start(state);
        d.options.fabric.nics = 1;
        d.options.netmem_bytes = bounds[i].bytes;
        assert_int_equal(in(), bounds[i].rc);
        if (bounds[i].rc == 0) {
            assert_int_equal(cfg[0].netmem_bytes, bounds[i].bytes);
            nofd_plug_out(&d);
        } else {
            assert_non_null(strstr(err, "from 1024KiB to 64GiB"));
        }
        nothing_is_left();
    }
}

static void nics_are_dealt_over_the_threads(void **state)
{
    (void)state;
    d.options.fabric.nics = 2;
    d.options.nports = 3;
    for (unsigned i = 0; i < 3; i++)
        strcpy(d.options.port[i], "net_null0");
    d.options.cores = 8; /* of use are five */
    assert_int_equal(in(), 0);
    assert_int_equal(d.ncores, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(nics_of_core[i], 1);
        assert_ptr_equal(d.cores[i].nics[0], &d.nics[i]);
    }
    (void)end(state);
    (void)start(state);
    d.options.fabric.nics = 3;
    d.options.cores = 2;
    assert_int_equal(in(), 0);
    assert_int_equal(nics_of_core[0], 2);
    assert_ptr_equal(d.cores[0].nics[1], &d.nics[2]);
}

/* Addresses of the NIC, save what tells the cores from each other; threads, memory and link in parts. */
static void cores_of_a_nic_share_its_addresses_and_have_parts_of_all_else(void **state)
{
    (void)state;
    d.options.fabric = (struct nofd_fabric_options){.nics = 2, .rate_bps = 4000000, .buffer_bytes = 400000};
    d.options.cores = d.options.cores_per_nic = 4;
    d.options.max_peers = 10;
    d.options.netmem_bytes = 64 << 20;
    assert_int_equal(in(), 0);
    assert_int_equal(created, 8);
    assert_int_equal(d.nnics, 2);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(d.nics[i].index, i / 4);
        assert_int_equal(wire[i].ip4, 0x0a630001 + i / 4);
        assert_int_equal(cfg[i].host_id, cfg[i / 4 * 4].host_id);
        assert_int_equal(cfg[i].udp_port, 48620 + i % 4);
        assert_int_equal(cfg[i].group_port, 48620);
        assert_int_equal(cfg[i].max_endpoints, 4);
        assert_int_equal(cfg[i].max_peers, 3);
        assert_int_equal(cfg[i].netmem_bytes, 16 << 20);
        assert_int_equal(cfg[i].max_paths, 4 * 256);
        assert_int_equal(wire[i].rate_bps, 1000000);
        assert_int_equal(nof_fabric_link(d.fabric, i).rate_bps, 1000000);
        assert_int_equal(nof_fabric_link(d.fabric, i).buffer_bytes, 100000);
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(cfg[i].nic_id, cfg[j].nic_id);
    }
    assert_int_not_equal(cfg[0].host_id, cfg[4].host_id);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(nics_of_core[i], 2);
        assert_ptr_equal(d.cores[i].nics[0], &d.nics[i]);
        assert_ptr_equal(d.cores[i].nics[1], &d.nics[4 + i]);
    }
}

/* A part that holds no frame would let none through. */
static void a_buffer_has_room_for_a_frame_in_each_part(void **state)
{
    (void)state;
    d.options.fabric = (struct nofd_fabric_options){.nics = 1, .rate_bps = 4000000, .buffer_bytes = 12000};
    d.options.cores = d.options.cores_per_nic = 4;
    assert_int_equal(in(), 0);
    assert_int_equal(nof_fabric_link(d.fabric, 0).buffer_bytes, 9064);
}

static void a_slow_link_is_slow_in_each_part_and_too_slow_a_one_refused(void **state)
{
    (void)state;
    d.options.fabric = (struct nofd_fabric_options){.nics = 1, .rate_bps = 3000};
    d.options.cores = d.options.cores_per_nic = 4;
    assert_int_equal(in(), 0);
    assert_int_equal(nof_fabric_link(d.fabric, 0).rate_bps, 1000);
    assert_int_equal(wire[3].rate_bps, 1000);
    (void)end(state);
    (void)start(state);
    d.options.fabric = (struct nofd_fabric_options){.nics = 1, .rate_bps = 3};
    d.options.cores = d.options.cores_per_nic = 4;
    assert_int_equal(in(), -1);
    assert_non_null(strstr(err, "check --link"));
    nothing_is_left();
}

static void one_socket_for_each_core(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "udp:127.0.0.1:0,rate=2000");
    d.options.cores = d.options.cores_per_nic = 3;
    assert_int_equal(in(), 0);
    assert_int_equal(created, 3);
    assert_int_not_equal(cfg[0].udp_port, cfg[1].udp_port);
    assert_int_not_equal(cfg[1].udp_port, cfg[2].udp_port);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(wire[i].rate_bps, 1000); /* the least */
        nof_udp_port_close(wire[i].udp);
    }
}

static void a_device_is_opened_once_for_all_its_cores(void **state)
{
    (void)state;
    d.options.nports = 2;
    strcpy(d.options.port[0], "net_null0");
    strcpy(d.options.port[1], "net_null1");
    d.options.cores = d.options.cores_per_nic = 3;
    assert_int_equal(in(), 0);
    assert_int_equal(ports_opened, 2);
    assert_int_equal(d.nnics, 2);
    assert_int_equal(created, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(d.nics[i].index, i / 3);
        assert_int_equal(wire[i].core, i % 3);
        assert_int_equal(cfg[i].udp_port, 48620 + i % 3);
        assert_int_equal(cfg[i].ip4, cfg[i / 3 * 3].ip4);
    }
}

/* Of three cores the second does not come: the device is let go by all three, or its interface would stay claimed. */
static void a_device_whose_cores_cannot_all_be_had_is_closed(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "net_null0");
    d.options.cores = d.options.cores_per_nic = 3;
    fail_part = 1;
    assert_int_equal(in(), -1);
    assert_int_equal(wires_open, 0);
    nothing_is_left();
}

static void a_port_needs_an_address(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "net_null0");
    port_ip = 0;
    assert_int_equal(in(), -1);
    assert_non_null(strstr(err, "has no IPv4 address: give one with --ip"));
    d.options.ip4[0] = 5;
    d.options.nips = 1;
    assert_int_equal(in(), 0);
    assert_int_equal(wire[0].ip4, 5);
}

static void a_udp_socket_has_the_address_that_it_names(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "udp:10.0.0.1");
    d.options.ip4[0] = 5;
    d.options.nips = 1;
    assert_int_equal(in(), -1);
    assert_non_null(strstr(err, "--ip does not go with udp:10.0.0.1"));
    nothing_is_left();
}

static void a_name_that_is_neither_interface_nor_device_is_told(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "no-such-if");
    assert_int_equal(in(), -1);
    assert_non_null(strstr(err, "there is no interface no-such-if"));
    assert_int_equal(ports_opened, 0);
    nothing_is_left();
}

static void an_interface_is_tried_in_two_ways(void **state)
{
    (void)state;
    d.options.nports = 1;
    strcpy(d.options.port[0], "lo");
    assert_int_equal(in(), 0);
    assert_string_equal(wire[0].device_name, "net_af_xdp0,iface=lo");
    (void)end(state);
    (void)start(state);
    d.options.nports = 1;
    strcpy(d.options.port[0], "lo");
    refused = "net_af_xdp";
    assert_int_equal(in(), 0);
    assert_string_equal(wire[0].device_name, "net_af_packet0,iface=lo");
}

static void one_that_cannot_be_had_leaves_none(void **state)
{
    (void)state;
    d.options.fabric.nics = 3;
    fail_nic = 2;
    assert_int_equal(in(), -1);
    assert_string_equal(err, "no such luck");
    nothing_is_left();
    fail_nic = ~0u;
    wires_open = 0;
    created = destroyed = 0;
    d.options.nports = 1;
    strcpy(d.options.port[0], "net_null0");
    refused = "net_null";
    assert_int_equal(in(), -1);
    nothing_is_left();
    wires_open = 0;
    created = destroyed = 0;
    refused = NULL;
    d.options.cores = 2;
    fail_core = 1;
    assert_int_equal(in(), -1);
    assert_non_null(strstr(err, "no descriptors for NIC core 1"));
    assert_int_equal(cores_up, 1);
    nothing_is_left();
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    mallopt(M_PERTURB, 0); /* as nofd itself: pools are large */
    const struct CMUnitTest tests[] = {
        EACH(every_nic_of_the_fabric_is_its_own),
        EACH(links_are_as_asked_for),
        EACH(a_wire_without_delay_has_a_window_that_stays_in_the_cache),
        EACH(memory_is_for_all_that_can_attach),
        EACH(network_memory_has_its_bounds),
        EACH(nics_are_dealt_over_the_threads),
        EACH(cores_of_a_nic_share_its_addresses_and_have_parts_of_all_else),
        EACH(a_buffer_has_room_for_a_frame_in_each_part),
        EACH(a_slow_link_is_slow_in_each_part_and_too_slow_a_one_refused),
        EACH(one_socket_for_each_core),
        EACH(a_device_is_opened_once_for_all_its_cores),
        EACH(a_device_whose_cores_cannot_all_be_had_is_closed),
        EACH(a_port_needs_an_address),
        EACH(a_udp_socket_has_the_address_that_it_names),
        EACH(a_name_that_is_neither_interface_nor_device_is_told),
        EACH(an_interface_is_tried_in_two_ways),
        EACH(one_that_cannot_be_had_leaves_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
