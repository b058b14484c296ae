/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host that lies about what its library counts: the sums are worth nothing then, and are told as numbers all the same; those
 * of other NICs are as they were. */
#include "hostile.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "nof_private/library_counts.h"

static void write_all(const struct intruder *in, uint64_t value)
{
    uint64_t *counts = (uint64_t *)(void *)(in->bar + in->id.library_counts_offset);

    check_equal(in->id.nlibrary_counts, NOF_LIBRARY_COUNT_MAX);
    for (unsigned i = 0; i < in->id.nlibrary_counts; i++)
        counts[i] = value;
}

/* Every count of this NIC is `wanted`, of as many ranks. */
static void check_told(const struct hostile *h, int nic, json_int_t ranks, json_int_t wanted)
{
    static char answer[1 << 20];
    char line[128];
    const char *name;
    json_t *said, *library, *counters, *value;

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stats\",\"params\":{\"nic\":%d}}", nic);
    check(hostile_control(h, line, answer, sizeof(answer)));
    said = json_loads(answer, JSON_REJECT_DUPLICATES, NULL);
    check(said != NULL);
    library = json_object_get(json_object_get(said, "result"), "library");
    counters = json_object_get(library, "counters");
    check_equal(json_integer_value(json_object_get(library, "ranks")), ranks);
    check_equal(json_object_size(counters), NOF_LIBRARY_COUNT_MAX);
    json_object_foreach(counters, name, value)
    {
        check(json_is_integer(value));
        check_equal(json_integer_value(value), wanted);
    }
    json_decref(said);
}

int main(int argc, char **argv)
{
    struct hostile h;
    struct intruder liar, other;

    hostile_start(&h, argc, argv, NULL);
    hostile_pair_goes_on(&h, 1);
    check_told(&h, 0, 1, 0); /* one of the pair, whose ranks have no library */
    hostile_intrude(&h, &liar);
    write_all(&liar, UINT64_MAX);
    check_told(&h, 0, 2, INT64_MAX);
    hostile_intrude(&h, &other);
    write_all(&other, 6);
    check_told(&h, 0, 3, 5);
    hostile_leave(&liar);
    check_told(&h, 0, 3, 5);
    write_all(&other, UINT64_MAX);
    check_told(&h, 0, 3, INT64_MAX);
    hostile_leave(&other);
    check_told(&h, 0, 3, INT64_MAX);
    check_told(&h, 1, 1, 0);
    hostile_pair_goes_on(&h, 10);
    hostile_end(&h);
    return 0;
}
