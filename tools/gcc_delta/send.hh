/* SPDX-License-Identifier: BSD-3-Clause */
/* A send that can be pipelined: what send.cc finds out, and announce.cc inserts. */
#ifndef NOF_DELTA_SEND_HH
#define NOF_DELTA_SEND_HH

#include "delta.hh"

/* Stores that go forward together. */
struct group {
    int direction;
    std::vector<mem_access> stores;
    tree frontier, ok; /* variables: key announced up to, 1 if announcing is allowed */
};

struct nest {
    class loop *loop;
    std::vector<group> announced;
    std::vector<mem_access> others; /* stores of the nest that are not announced, and all behind it */
};

struct send {
    message m;
    tree handle, kept, where; /* variables: the request, as the program keeps it, and where it does */
    std::vector<gcall *> ends;
    std::vector<nest> nests;
};

#endif
