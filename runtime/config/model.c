/* SPDX-License-Identifier: Apache-2.0 */
/* A model whose parameters and shape were set by hand. */
#include "runtime/config/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

int
model_settle(struct model *m, struct err *err)
{
	uint64_t	h = m->hidden, f, kv;

	if (!m->kv_heads)
		m->kv_heads = m->heads;
	if (!m->head_dim && m->heads)
		m->head_dim = h / m->heads;
	if (!m->ffn)
		m->ffn = 4 * h;
	if (!m->norms) {		/* by hand: Llama's or GPT's kind */
		m->norms = 2;
		m->rms = m->gated;
		m->unusual = true;
	}
	f = m->ffn;
	kv = m->heads ? m->kv_heads * m->head_dim : h;
	if (m->layers && h && !m->block) {
		uint64_t q = m->heads ? m->heads * m->head_dim : h;

		m->block = 2 * h * q + 2 * h * kv + (m->gated ? 3 : 2) * h * f +
		    2 * h;
	}
	if (!m->embedding)
		m->embedding = m->vocab * h;
	if (!m->params) {
		if (!m->block) {
			err_set(err, "neither the parameters nor the shape of "
			    "the model are known");
			return err_hint(err, "give --params 7B, or --layers "
			    "and --hidden, or a config.json");
		}
		m->params = m->layers * m->block + m->embedding;
		m->guess = true;
	}
	if (!m->active)
		m->active = m->params;
	if (!m->plain_bytes) {
		m->plain_bytes = 4 * m->params;
		m->largest_bytes = 4 * (m->block > m->embedding ? m->block :
		    m->embedding);
	}
	return 0;
}

void
model_clear(struct model *m)
{
	free(m->name);
	*m = (struct model){ .name = NULL };
}

int
model_count(const char *text, uint64_t *out)
{
	static const char	 letters[] = "kKmMbBgGtT";
	static const double	 units[] = { 1e3, 1e6, 1e9, 1e9, 1e12 };
	char			 digits[40];
	size_t			 n = strlen(text);
	const char		*letter = n ? strchr(letters, text[n - 1]) :
	    NULL;
	double			 value;
	long			 whole;

	if (!n || n >= sizeof digits)
		return -1;
	if (num_parse(text, 1, 1L << 59, &whole) == 0) {
		*out = (uint64_t)whole;
		return 0;
	}
	snprintf(digits, sizeof digits, "%.*s", (int)(n - (letter != NULL)),
	    text);
	if (num_parse_real(digits, 0, 1e17, &value) < 0)
		return -1;
	if (letter)
		value *= units[(letter - letters) / 2];
	if (value < 1 || value > 0x1p59)
		return -1;
	*out = (uint64_t)(value + 0.5);
	return 0;
}
