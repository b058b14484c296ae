/* SPDX-License-Identifier: BSD-3-Clause */
#include "emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { NAME_MAX_CHARS = 50, C_A_LINE = 8, FORTRAN_A_LINE = 6, FORTRAN_A_STATEMENT = 96 };

bool nof_emit_is_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > NAME_MAX_CHARS || !isalpha((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return true;
}

void nof_emit_c(FILE *out, const struct nof_phases *phases, const char *name)
{
    fprintf(out,
            "/* %" PRIu32
            " ranks, %zu messages in %zu phases; in one source file. */\n#include <mpi_offload.h>\n\n",
            phases->nodes, phases->piece_count, phases->phase_count);
    fprintf(out, "static const int %s_first[] = {", name);
    for (size_t k = 0; k < phases->phase_count; k++)
        fprintf(out, "%s%zu,", k % C_A_LINE == 0 ? "\n    " : " ", phases->phase[k].first_piece);
    fprintf(out, "\n    %zu\n};\nstatic const int %s_pair[][2] = {", phases->piece_count, name);
    for (size_t i = 0; i < phases->piece_count; i++)
        fprintf(out, "%s{%" PRIu32 ", %" PRIu32 "},", i % C_A_LINE == 0 ? "\n    " : " ",
                phases->piece[i].source, phases->piece[i].destination);
    if (phases->piece_count == 0)
        fputs("\n    {0, 0} /* no message */", out);
    fprintf(out, "\n};\nstatic const struct MPIX_Phases %s = {%" PRIu32 ", %zu, %s_first, %s_pair};\n", name,
            phases->nodes, phases->phase_count, name, name);
}

/* Statements of a limited number of lines. */
static void fortran_data(FILE *out, const struct nof_phases *phases, const char *name, bool pairs)
{
    size_t count = pairs ? phases->piece_count : phases->phase_count + 1;

    for (size_t i = 0; i < count; i++) {
        size_t last = i + FORTRAN_A_STATEMENT - 1 < count ? i + FORTRAN_A_STATEMENT - 1 : count - 1;

        if (i % FORTRAN_A_STATEMENT == 0 && pairs)
            fprintf(out, "  data ((%s_pair(i, j), i = 1, 2), j = %zu, %zu) /", name, i + 1, last + 1);
        else if (i % FORTRAN_A_STATEMENT == 0)
            fprintf(out, "  data (%s_first(i), i = %zu, %zu) /", name, i, last);
        if (i % FORTRAN_A_LINE == 0)
            fputs(" &\n   ", out);
        if (pairs)
            fprintf(out, " %" PRIu32 ", %" PRIu32, phases->piece[i].source, phases->piece[i].destination);
        else
            fprintf(out, " %zu",
                    i == phases->phase_count ? phases->piece_count : phases->phase[i].first_piece);
        fputs(i + 1 == count || (i + 1) % FORTRAN_A_STATEMENT == 0 ? " /\n" : ",", out);
    }
}

void nof_emit_fortran(FILE *out, const struct nof_phases *phases, const char *name)
{
    fprintf(out,
            "! %" PRIu32
            " ranks, %zu messages in %zu phases\nmodule %s\n  implicit none\n  integer, private :: i, j\n",
            phases->nodes, phases->piece_count, phases->phase_count, name);
    fprintf(out, "  integer, parameter :: %s_ranks = %" PRIu32 ", %s_phases = %zu\n", name, phases->nodes,
            name, phases->phase_count);
    fprintf(out, "  integer, save :: %s_first(0:%zu), %s_pair(2, %zu)\n", name, phases->phase_count, name,
            phases->piece_count);
    fortran_data(out, phases, name, false);
    fortran_data(out, phases, name, true);
    fprintf(out, "end module %s\n", name);
}
