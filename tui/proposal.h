/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proposal: how to train the model of the form on its machines (advice.h), as a
 * text, as a popup, and as one change.
 *
 * The advice is found anew each time, from what the form has: the same form has
 * the same proposal.
 */
#ifndef TUI_PROPOSAL_H
#define TUI_PROPOSAL_H

#include "tui/form.h"

struct screen;

/* Adds the proposal with its reasons, its memory and its alternatives, so many
 * columns wide.  -1 where the model is not known, or not enough of it. */
int  proposal_text(const struct form *f, size_t width, struct buf *out,
    struct err *err);

/* How many ways there are to choose from: none where nothing fits, else the
 * proposal and its alternatives.  -1 as above. */
int  proposal_ways(const struct form *f, struct err *err);

/* Takes the proposal (0) or an alternative (1, 2) as one change, with the
 * micro-batch that it counts on. */
int  proposal_take(struct form *f, int way, struct err *err);

/* On the full screen: asks for a model where there is none, then shows it all,
 * to be taken or asked again. */
void proposal_show(struct screen *s);
#endif
