#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: blob.sh IMAGE OUT.o CC...
# An object with the bytes of IMAGE between nof_sim_image_begin and nof_sim_image_end.
set -eu
image=$1
out=$2
shift 2
# A compiler cache does not see what is included.
CCACHE_DISABLE=1 "$@" -c -x assembler -o "$out" - <<END
    .section .rodata
    .balign 16
    .global nof_sim_image_begin, nof_sim_image_end
    .hidden nof_sim_image_begin, nof_sim_image_end
nof_sim_image_begin:
    .incbin "$image"
nof_sim_image_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
END
