/* SPDX-License-Identifier: Apache-2.0 */
/* runview_intern: of the launch screen, for its own files. */
#ifndef TUI_RUNVIEW_INTERN_H
#define TUI_RUNVIEW_INTERN_H

#include "tui/runview.h"

/* A new rank table: "of" has the host of each rank. */
int  runview_set_plan(struct run_view *v, size_t hosts, size_t world,
    const size_t *of);
void runview_forget_plan(struct run_view *v);
/* The list, as hosts are open or closed. */
void runview_set_rows(struct run_view *v);
/* A line of a rank, and a number in one. */
void runview_line(struct run_view *v, int64_t now, size_t rank, int stream,
    const char *line, size_t n);
void runview_value(struct run_view *v, size_t rank, const char *name,
    double value, bool told);

struct screen;

/* runview_list.c: a title, and that many rows of hosts and ranks. */
void runview_draw_list(struct run_view *v, struct screen *s, int y, int w,
    int rows);
#endif
