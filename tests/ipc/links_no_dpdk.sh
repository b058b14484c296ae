#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: links_no_dpdk.sh FILE...
# The host side uses rte_ring's inline functions and links no DPDK library.
set -eu
for file; do
    if readelf -d "$file" | grep 'NEEDED.*librte_'; then
        echo "$file links DPDK"
        exit 1
    fi
    if nm -D --undefined-only "$file" | grep ' rte_'; then
        echo "$file needs DPDK symbols"
        exit 1
    fi
done
