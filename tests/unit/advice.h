/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the advice share: models, machines in a word, dice. */
#ifndef TESTS_UNIT_ADVICE_H
#define TESTS_UNIT_ADVICE_H

#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/config/advice.h"
#include "tests/tap.h"

static const struct { const char *name, *json; } models[] = {
	{ "12M", "{\"model_type\": \"gpt2\", \"n_embd\": 256, \"n_layer\": 12, "
	    "\"n_head\": 8, \"n_positions\": 512, \"vocab_size\": 8000}" },
	{ "124M", "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 12,"
	    "\"n_head\": 12, \"n_positions\": 1024, \"vocab_size\": 50257}" },
	{ "1.3B", "{\"model_type\": \"opt\", \"architectures\": "
	    "[\"OPTForCausalLM\"], \"hidden_size\": 2048, "
	    "\"num_hidden_layers\": 24, \"num_attention_heads\": 32, "
	    "\"ffn_dim\": 8192, \"max_position_embeddings\": 2048, "
	    "\"vocab_size\": 50272}" },
	{ "7B", "{\"model_type\": \"llama\", \"architectures\": "
	    "[\"LlamaForCausalLM\"], \"hidden_size\": 4096, "
	    "\"intermediate_size\": 11008, \"num_hidden_layers\": 32, "
	    "\"num_attention_heads\": 32, \"max_position_embeddings\": 4096, "
	    "\"vocab_size\": 32000}" },
	{ "8B", "{\"model_type\": \"llama\", \"architectures\": "
	    "[\"LlamaForCausalLM\"], \"hidden_size\": 4096, "
	    "\"intermediate_size\": 14336, \"num_hidden_layers\": 32, "
	    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
	    "\"max_position_embeddings\": 131072, \"vocab_size\": 128256}" },
	{ "13B", "{\"model_type\": \"llama\", \"architectures\": "
	    "[\"LlamaForCausalLM\"], \"hidden_size\": 5120, "
	    "\"intermediate_size\": 13824, \"num_hidden_layers\": 40, "
	    "\"num_attention_heads\": 40, \"max_position_embeddings\": 4096, "
	    "\"vocab_size\": 32000}" },
	{ "70B", "{\"model_type\": \"llama\", \"architectures\": "
	    "[\"LlamaForCausalLM\"], \"hidden_size\": 8192, "
	    "\"intermediate_size\": 28672, \"num_hidden_layers\": 80, "
	    "\"num_attention_heads\": 64, \"num_key_value_heads\": 8, "
	    "\"max_position_embeddings\": 4096, \"vocab_size\": 32000}" },
};

static inline void
model_named(struct model *m, const char *name)
{
	struct err	err = ERR_INIT;

	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		if (!strcmp(models[i].name, name)) {
			if (model_parse(m, models[i].json,
			    strlen(models[i].json), name, &err) < 0 ||
			    model_settle(m, &err) < 0)
				printf("Bail out! %s\n", err.text);
			return;
		}
	printf("Bail out! no model %s\n", name);
}

struct fleet_of {
	struct advice_host	*host;
	size_t			 count;
};

/* Words with blanks between. */
static inline void
fleet_words(struct fleet_of *f, const char *text)
{
	struct err	err = ERR_INIT;
	char		word[80];

	*f = (struct fleet_of){ NULL, 0 };
	while (*text) {
		size_t	n = strcspn(text, " ");

		snprintf(word, sizeof word, "%.*s", (int)n, text);
		if (advice_hosts(&f->host, &f->count, word, &err) < 0)
			printf("Bail out! %s\n", err.text);
		text += n + (text[n] == ' ');
	}
}

static uint64_t seed = 88172645463325252;

static inline unsigned
draw(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

#endif
