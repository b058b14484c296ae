/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that calls nof_delta_watch_look() every now and then, while there is something to look at. Under the library's lock. */
#ifndef NOF_MPI_DELTA_SCAN_H
#define NOF_MPI_DELTA_SCAN_H

/* A message has begun that asks for it (nof_delta_watch_send). Without a thread it leaves at its end. */
void nof_delta_scan_begin(void);
/* It has ended. */
void nof_delta_scan_end(void);

#endif
