/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Business cards as text: the 32 bytes of struct nof_card in hex, as they lie in memory (all fields are
 * little-endian, pinned by nof/card.h). */
#include <string.h>

#include "pmd_driver.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cards travel as they lie in memory");

void nof_card_format(const struct nof_card *card, char text[65])
{
    static const char digit[] = "0123456789abcdef";
    unsigned char bytes[sizeof(*card)];

    memcpy(bytes, card, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * sizeof(bytes)] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int nof_card_parse(const char *text, struct nof_card *card_out)
{
    unsigned char bytes[sizeof(*card_out)];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        int high = digit_value(text[2 * i]);
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return NOF_EINVAL;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    if (text[2 * sizeof(bytes)] != '\0')
        return NOF_EINVAL;
    memcpy(card_out, bytes, sizeof(bytes));
    return NOF_OK;
}
