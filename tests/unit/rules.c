/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule of rules.def has a configuration here that breaks it and one that
 * does not, alike but for what the rule is about.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"
#include "tests/unit/rules_cases.h"

/* All that is wrong with one half: the ids, with blanks around; *field is that
 * of "id". */
static char *
wrong(const struct half *half, const char *id, int *field, int *sentence)
{
	struct config	c;
	struct err	err = ERR_INIT;
	struct site	site = half->site;
	struct problems	p = PROBLEMS_INIT;
	struct buf	ids = BUF_INIT;
	char		*argv[4] = { NULL };
	int		 at = 0, bad;
	bool		 late = false;

	config_init(&c);
	memcpy(argv, half->flags, sizeof argv);
	bad = config_parse(&c, half->yaml, strlen(half->yaml), "f", &err);
	while (!bad && argv[at])
		bad = config_flag(&c, argv, &at, &err) != 1;
	if (bad)
		printf("# %s: %s\n", id, err.text);
	if (bad || site_read_json(&site, &c, &err) ||
	    config_problems(&c, &site, &p, &err))
		buf_adds(&ids, " failed");
	buf_adds(&ids, " ");
	for (size_t i = 0; i < p.count; i++) {
		buf_addf(&ids, "%s ", p.item[i].id);
		if (!strcmp(p.item[i].id, id)) {
			*field = p.item[i].field;
			*sentence = p.item[i].what[0] && p.item[i].hint[0] &&
			    !strstr(p.item[i].what, "(null)");
		}
		if (late && p.item[i].fatal)
			buf_adds(&ids, "unsorted ");
		late = !p.item[i].fatal;
	}
	problems_clear(&p);
	config_clear(&c);
	return buf_detach(&ids);
}

static bool
word(const char *in, const char *id)
{
	char	spaced[80];

	snprintf(spaced, sizeof spaced, " %s ", id);
	return strstr(in, spaced) != NULL;
}

static void
try(int i)
{
	const char	*id = cases[i].id;
	int		 field = -2, none = -2, sentence = 0;
	char		*bad = wrong(&cases[i].bad, id, &field, &sentence);
	char		*good = wrong(&cases[i].good, id, &none, &sentence);

	ok(word(bad, id), "%s is broken", id);
	if (!word(bad, id))
		printf("#%s\n", bad);
	ok(!word(bad, "failed") && !word(bad, "unsorted") && sentence &&
	    field >= -1 && field < FIELD_COUNT,
	    "with a sentence, what to do, and errors first");
	/* Nothing fatal is left, so that the remedy is one. */
	ok(!word(good, id) && !word(good, "failed"), "and kept");
	for (const struct rule *r = rules; r->id; r++)
		if (r->fatal && word(good, r->id)) {
			printf("#%s\n", good);
			ok(0, "%s: the good half breaks %s", id, r->id);
		}
	free(good);
	free(bad);
}

int
main(void)
{
	struct config	c;
	struct problems	p = PROBLEMS_INIT;
	struct err	err = ERR_INIT;

	for (const struct rule *r = rules; r->id; r++) {
		int	n = 0, same = 0;

		for (int i = 0; i < CASES; i++)
			n += !strcmp(cases[i].id, r->id);
		for (const struct rule *o = rules; o->id; o++)
			same += !strcmp(o->id, r->id);
		ok(n > 0 && same == 1, "rule %s has a case, and its name", r->id);
		ok(*r->law && *r->remedy && r->law[strlen(r->law) - 1] != '.',
		    "a law and a remedy");
	}
	for (int i = 0; i < CASES; i++)
		try(i);

	config_init(&c);
	ok(!config_problems(&c, NULL, &p, &err) && !p.count,
	    "the defaults break no rule");
	config_set(&c, FIELD_main_machine_rank, "3", ORIGIN_FLAG, &err);
	ok(config_check(&c, &err) == -1 &&
	    !strcmp(err.text, "machine_rank 3 is not below num_machines 1"),
	    "config_check gives the first error, with its numbers");
	is(err.hint, "machines count from 0", "and its remedy");
	config_clear(&c);
	problems_clear(&p);
	return tap_done();
}
