/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that a bench has measured and a person may have written: text, a row a line, '#' begins what is for people.
 *
 * Errors: a sentence in error[size], with the place. Threads: any. */
#ifndef NOF_MPI_TABLE_TEXT_H
#define NOF_MPI_TABLE_TEXT_H

#include <stddef.h>

#define NOF_TABLE_TEXT_LINE_BYTES 512u
#define NOF_TABLE_TEXT_ERROR_BYTES 640u

/* A line without what is for people, which may be written to. 0, or -1 with what is wrong. */
typedef int nof_table_text_line(void *of, char *line, char *error, size_t size);

/* Each line of text in turn, until one is wrong: 0, or -1. name: what the text is, for the sentence. */
int nof_table_text_read(const char *name, const char *text, nof_table_text_line *take, void *of, char *error,
                        size_t size);

/* The text of a regular file, malloc'ed; NULL: it cannot be read, or is none. env: the variable that names it; how: the command that
 * writes one. */
char *nof_table_text_load(const char *env, const char *name, const char *how, char *error, size_t size);

#endif
