/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status codes: 0 or one of these negative values. Every part of nof returns them; errno and MPI
 * error classes appear only at the edges. They are grouped by what the caller must do. */
#ifndef NOF_STATUS_H
#define NOF_STATUS_H

enum nof_status {
    NOF_OK = 0,

    /* Retry: nothing happened, nothing is lost; try again when something has drained. */
    NOF_EAGAIN = -1, /* a queue or pool is full */
    NOF_ENOMATCH = -2, /* a receive or probe found nothing in the NIC's store (spill mode, probe) */

    /* The operation ended with an error of its own; nothing else is harmed. */
    NOF_ETRUNC = -10, /* message longer than the receive buffer; the buffer holds its beginning */
    NOF_ECANCELED = -11, /* cancelled by request */
    NOF_EFAULT = -12, /* the user's buffer cannot be read or written */
    NOF_ENOMEM = -13, /* a bound of the configuration is reached */
    NOF_ENOENT = -14, /* no such handle, peer, layout, feature */
    NOF_EDISAGREE = -15, /* the ranks of a collective do not call the same one */
    NOF_ETIMEDOUT = -16, /* nothing has come for longer than may be waited */

    /* Caller's bug: refused, nothing happened. */
    NOF_EINVAL = -20, /* a field is out of its range */
    NOF_ENOTSUP = -21, /* known, but not built in or not allowed here */
    NOF_EVERSION = -22, /* the other side speaks another version */
    NOF_EPERM = -23, /* wrong job key, user or pid */

    /* The other side failed. */
    NOF_EPEERDEAD = -30, /* the peer process or its NIC is gone */
    NOF_EPROTO = -31, /* the peer broke the protocol */
    NOF_ENICDEAD = -32, /* our own NIC (nofd) is gone */
    NOF_ELINKDOWN = -33, /* our own link is down */
    NOF_EUNPLUGGED = -34, /* the device of our own NIC is gone */
};

/* X(CODE, "a short English text") */
#define NOF_STATUS_TEXTS(X) \
    X(OK, "success") \
    X(EAGAIN, "a queue or pool is full; try again") \
    X(ENOMATCH, "nothing in the NIC matches") \
    X(ETRUNC, "the message is longer than the receive buffer") \
    X(ECANCELED, "cancelled by request") \
    X(EFAULT, "the buffer cannot be read or written") \
    X(ENOMEM, "a bound of the configuration is reached") \
    X(ENOENT, "no such handle, peer, layout or feature") \
    X(EDISAGREE, "the ranks do not call the same collective, or not alike") \
    X(ETIMEDOUT, "nothing has come for longer than may be waited") \
    X(EINVAL, "a value is out of its range") \
    X(ENOTSUP, "not supported or not allowed here") \
    X(EVERSION, "the other side speaks another version") \
    X(EPERM, "wrong job key, user or process") \
    X(EPEERDEAD, "the peer process or its NIC is gone") \
    X(EPROTO, "the peer broke the protocol") \
    X(ENICDEAD, "our own NIC (nofd) is gone") \
    X(ELINKDOWN, "our own link is down") \
    X(EUNPLUGGED, "the device of our own NIC has gone: unplugged, or taken from its driver")

/* The code's text; never NULL. Static storage; any thread. */
const char *nof_strstatus(int status);

#endif
