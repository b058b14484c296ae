/* SPDX-License-Identifier: BSD-3-Clause */
#include "testbed_option.h"

#include <string.h>

#include "nof_private/units.h"

unsigned nof_numbers_option(const char *text, unsigned least, unsigned most, unsigned *numbers, unsigned room,
                            const char *what, const struct argp_state *state)
{
    unsigned n = 0;

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        char word[16] = "";
        uint64_t value;

        length = strcspn(text, ",");
        if (length == 0)
            continue;
        if (length < sizeof(word))
            strncat(word, text, length);
        if (nofd_units_number(word, least, most, &value) != 0)
            argp_error(state, "%s: '%.*s' is no number from %u to %u", what, (int)length, text, least, most);
        for (unsigned i = 0; i < n; i++)
            if (numbers[i] == value)
                argp_error(state, "%s: %u stands twice", what, (unsigned)value);
        if (n == room)
            argp_error(state, "%s: at most %u numbers", what, room);
        numbers[n++] = (unsigned)value;
    }
    if (n == 0)
        argp_error(state, "%s: a list of numbers is missing", what);
    return n;
}

error_t nof_testbed_option(int key, char *arg, struct argp_state *state, struct nof_testbed_config *config,
                           bool *json)
{
    switch (key) {
    case NOF_OPTION_HOSTS:
        config->hosts = nof_number_option(arg, 2, NOF_LAB_HOSTS_MAX, "--hosts", state);
        return 0;
    case NOF_OPTION_LINK:
        if (nofd_units_rate(arg, &config->rate_bps) != 0 || config->rate_bps < 1000000)
            argp_error(state, "--link: '%s' is no rate from 1mbit on, such as 100mbit", arg);
        return 0;
    case NOF_OPTION_BUFFER:
        if (nofd_units_bytes(arg, &config->buffer_bytes) != 0 || config->buffer_bytes < 10000 ||
            config->buffer_bytes > 1 << 30)
            argp_error(state, "--buffer: '%s' is no size from 10000 to 1G", arg);
        return 0;
    case NOF_OPTION_MTU:
        config->mtu_bytes = nof_number_option(arg, 576, 9000, "--mtu", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, json);
    }
}

unsigned nof_sizes_option(const char *text, uint64_t *sizes, unsigned most, const struct argp_state *state)
{
    unsigned n = 0;
    char word[32];

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (length == 0)
            continue;
        if (n == most)
            argp_error(state, "--sizes: at most %u", most);
        word[0] = '\0';
        if (length < sizeof(word))
            strncat(word, text, length);
        if (nofd_units_bytes(word, &sizes[n]) != 0 || sizes[n] < 1 || sizes[n] > 1 << 24)
            argp_error(state, "--sizes: '%.*s' is no size from 1 to 16M", (int)length, text);
        n++;
    }
    if (n == 0)
        argp_error(state, "--sizes: a list of sizes is missing");
    return n;
}

const char *nof_driver_option(const char *arg, const struct argp_state *state)
{
    if (strcmp(arg, "nic") != 0 && strcmp(arg, "host") != 0)
        argp_error(state, "--collectives is nic or host");
    return strcmp(arg, "nic") == 0 ? "nic" : "host";
}
