/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers as people write them, with units; nofd and the nof command read them alike (common/units.c).
 * Each function reads the whole text or refuses it: 0, or -1 with *out untouched. Thread-safe, no state. */
#ifndef NOF_PRIVATE_UNITS_H
#define NOF_PRIVATE_UNITS_H

#include <stdint.h>

/* "64KiB", "64k", "1.5M" (powers of 1024), "64kB", "1MB" (powers of 1000), "512", "512B". */
int nofd_units_bytes(const char *text, uint64_t *bytes_out);
/* "10Gbit/s", "10G", "100mbit", "1e9"; "none" is 0. */
int nofd_units_rate(const char *text, uint64_t *bps_out);
/* "50us", "1ms", "2s", "800ns"; a bare number counts `bare_ns` nanoseconds a piece. */
int nofd_units_time(const char *text, uint64_t bare_ns, uint64_t *ns_out);
/* "0.02" or "2%": 0..1. */
int nofd_units_share(const char *text, double *share_out);
/* By the unit of a feature: "bytes" as above, "us" and "ms" a time (a bare number counts those), else a number. */
int nofd_units_of(const char *unit, const char *text, uint64_t *number_out);
int nofd_units_number(const char *text, uint64_t min, uint64_t max, uint64_t *number_out);
/* "10.0.0.1" in host byte order. */
int nofd_units_ip4(const char *text, uint32_t *ip4_out);

#endif
