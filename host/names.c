/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of counters and status codes for programs that link the driver and not the firmware core. Weak,
 * because a test may link both; both expand the same tables. */
#include <string.h>

#include "nof/counters.h"
#include "nof/status.h"
#include "pmd_driver.h"

extern const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT] __attribute__((weak));
const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT] = {
#define X(id, name, unit, help) [NOF_C_##id] = {name, unit, help},
    NOF_COUNTERS(X)
#undef X
};

__attribute__((weak)) const char *nof_strstatus(int status)
{
    static const struct {
        int status;
        const char *text;
    } table[] = {
        {NOF_OK, "success"},
        {NOF_EAGAIN, "a queue or pool is full for now"},
        {NOF_ENOMATCH, "nothing matches"},
        {NOF_ETRUNC, "the message is longer than the receive buffer"},
        {NOF_ECANCELED, "cancelled"},
        {NOF_EFAULT, "the buffer cannot be read or written"},
        {NOF_ENOMEM, "a configured bound is reached"},
        {NOF_ENOENT, "no such thing"},
        {NOF_EINVAL, "a value is out of its range"},
        {NOF_ENOTSUP, "not supported here"},
        {NOF_EVERSION, "the other side speaks another version"},
        {NOF_EPERM, "wrong job key, user or process"},
        {NOF_EPEERDEAD, "the peer process or its NIC is gone"},
        {NOF_EPROTO, "the peer broke the protocol"},
        {NOF_ENICDEAD, "our own NIC is gone"},
        {NOF_ELINKDOWN, "our own link is down"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status)
            return table[i].text;
    return "unknown status";
}

int nof_pmd_counter_find(const char *name, enum nof_counter *counter_out)
{
    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++) {
        if (strcmp(nof_counter_info[i].name, name) == 0) {
            *counter_out = (enum nof_counter)i;
            return NOF_OK;
        }
    }
    return NOF_ENOENT;
}
