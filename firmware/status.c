/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof/status.h"

static const struct {
    int status;
    const char *text;
} table[] = {
    {NOF_OK, "success"},
    {NOF_EAGAIN, "a queue or pool is full, try again"},
    {NOF_ENOMATCH, "nothing in the NIC matches"},
    {NOF_ETRUNC, "the message is longer than the receive buffer"},
    {NOF_ECANCELED, "cancelled by request"},
    {NOF_EFAULT, "the buffer cannot be read or written"},
    {NOF_ENOMEM, "a bound of the configuration is reached"},
    {NOF_ENOENT, "no such handle, peer, layout or feature"},
    {NOF_EINVAL, "a field is out of its range"},
    {NOF_ENOTSUP, "not supported or not allowed here"},
    {NOF_EVERSION, "the other side speaks another version"},
    {NOF_EPERM, "wrong job key, user or process"},
    {NOF_EPEERDEAD, "the peer process or its NIC is gone"},
    {NOF_EPROTO, "the peer broke the protocol"},
    {NOF_ENICDEAD, "the NIC (nofd) is gone"},
    {NOF_ELINKDOWN, "the link is down"},
};

const char *nof_strstatus(int status)
{
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].text;
    return "unknown status";
}
