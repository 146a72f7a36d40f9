/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/model.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/config/model.h"

#include "runtime/base/banned.h"

int
cli_count(const char *text, const char *flag, long hi, long *out,
    struct err *err)
{
	if (!text || num_parse(text, 1, hi, out) == 0)
		return 0;
	return err_set(err, "--%s %s: not a number from 1 to %ld", flag, text,
	    hi);
}

static int
take_size(const char *text, const char *flag, uint64_t *out, struct err *err)
{
	long	value = 0;

	if (cli_count(text, flag, 1L << 24, &value, err) < 0)
		return -1;
	if (text)
		*out = (uint64_t)value;
	return 0;
}

/* A shape by hand; it also mends what weights do not tell. */
static int
take_shape(struct model *m, const struct model_words *w, struct err *err)
{
	if (w->params && model_count(w->params, &m->params) < 0) {
		err_set(err, "--params %s: not a count of parameters",
		    w->params);
		return err_hint(err, "such as 7B, 124M or 6738415616");
	}
	m->gated |= w->gated;
	return take_size(w->layers, "layers", &m->layers, err) < 0 ||
	    take_size(w->hidden, "hidden", &m->hidden, err) < 0 ||
	    take_size(w->heads, "heads", &m->heads, err) < 0 ||
	    take_size(w->kv_heads, "kv_heads", &m->kv_heads, err) < 0 ||
	    take_size(w->head_dim, "head_dim", &m->head_dim, err) < 0 ||
	    take_size(w->ffn, "ffn", &m->ffn, err) < 0 ||
	    take_size(w->vocab, "vocab", &m->vocab, err) < 0 ? -1 : 0;
}

int
cli_model(struct model *m, const char *name, const struct model_words *w,
    const char *example, struct err *err)
{
	if (name && w->params) {
		err_set(err, "both a model and --params %s", w->params);
		return err_hint(err, "its own parameters count; leave one of "
		    "them out");
	}
	if (name && model_read(m, name, err) < 0)
		return -1;
	if (take_shape(m, w, err) < 0)
		return -1;
	if (!name && !m->params && !m->layers) {
		err_set(err, "no model was given");
		return err_hint(err, "such as: %s; or --params 7B", example);
	}
	if (!name) {
		m->from = "hand";
		m->name = strdup(w->params ? w->params : "by hand");
		if (!m->name)
			return err_nomem(err);
	}
	return model_settle(m, err);
}
