/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the table: what every row must have. */
#include <ctype.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

int
main(void)
{
	struct config	c, d;
	struct err	err = ERR_INIT;
	int		bad_ask = 0, twice = 0, bad_default = 0, lost = 0;
	int		bad_choice = 0, unfound = 0;

	config_init(&c);
	config_init(&d);
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];
		struct buf		 one = BUF_INIT, two = BUF_INIT;
		size_t			 n = strlen(f->ask);

		if (!n || n > 60 || f->ask[n - 1] != '?' || !*f->help) {
			printf("# question of %s\n", f->key);
			bad_ask++;
		}
		for (int k = 0; k < i; k++)
			if (!strcmp(fields[k].key, f->key) &&
			    !strcmp(fields[k].group, f->group)) {
				printf("# twice: %s\n", f->key);
				twice++;
			}
		if (config_field_of(f->flag ? f->flag : f->key) != i) {
			printf("# not found: %s\n", f->key);
			unfound++;
		}
		config_get(&c, i, &one);
		if (config_set(&d, i, buf_text(&one), ORIGIN_USER, &err)) {
			printf("# %s: %s\n", f->key, err.text);
			bad_default++;
		}
		config_get(&d, i, &two);
		lost += strcmp(buf_text(&one), buf_text(&two)) != 0;
		for (const struct choice *k = f->choice; k && k->word; k++)
			bad_choice += config_set(&d, i, k->word, ORIGIN_USER,
			    &err) != 0;
		(void)config_applies(&c, i);
		buf_clear(&one);
		buf_clear(&two);
	}
	ok(!bad_ask, "each question ends in ? within 60 columns, with help");
	ok(!twice, "each key is there once in its section");
	ok(!unfound, "each flag finds its row");
	ok(!bad_default, "each default passes its own parser");
	ok(!lost, "printed and parsed again it is the same");
	ok(!bad_choice, "each word of each choice list parses");
	config_clear(&c);
	config_clear(&d);
	return tap_done();
}
