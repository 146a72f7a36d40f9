/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the form share. */
#ifndef TUI_FORM_INTERN_H
#define TUI_FORM_INTERN_H

#include "tui/form.h"

/* After each change: what is listed, the cursor on the item where it was. */
void form_relist(struct form *f);
/* The model and the memory that a rank takes. */
void form_estimate(struct form *f);
#endif
