/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a configuration, on a site that follows from its bytes: each rule
 * has something to say or keeps quiet, and what breaks none is exported. */
#include <jansson.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/hash.h"
#include "runtime/config/export.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "tests/fuzz/fuzz.h"

/* A few values of each fact, the extremes among them. */
static struct site
site_of(uint64_t h)
{
	static const long	counts[] = { 0, 1, 2, 3, 8, 1L << 40, 7, 0 };
	struct site		s = { 0 };

#define NEXT(n)	\
	((long)((h = h * 6364136223846793005u + 1442695040888963407u) >> 33) % (n))
	s.hosts = counts[NEXT(8)];
	s.slots = counts[NEXT(8)];
	s.least = counts[NEXT(8)];
	s.looked = NEXT(2);
	s.gpus = s.looked ? counts[NEXT(8)] : 0;
	s.capability = (int)NEXT(13) * 10;
	s.gpu_memory = (double)NEXT(3) * 40e9;
	s.memory = (double)NEXT(3) * 64e9;
	s.parameters = (double)NEXT(3) * 1e15;
	s.port_busy = NEXT(2);
	s.torch = NEXT(3) ? RELEASE(2, 5, 1) : ABSENT;
	s.transformers = NEXT(3) ? RELEASE(4, 51, 0) : ABSENT;
	s.deepspeed = NEXT(3) ? RELEASE(0, 14, 0) : ABSENT;
	s.megatron = NEXT(2) ? ABSENT : 0;
	s.torchao = NEXT(2) ? ABSENT : 0;
	s.json.read = NEXT(2);
	s.json.zero = NEXT(2);
	s.json.stage = (long)NEXT(4);
	s.json.fp16 = NEXT(2);
	s.json.bf16 = NEXT(2);
	s.json.train_batch = NEXT(2) ? (1L << 20) - 1 : 0;
	s.json.micro_batch = NEXT(2) ? (1L << 20) - 1 : 0;
	s.json.accumulation = NEXT(2) ? (1L << 20) - 1 : 0;
	s.json_missing = NEXT(2);
#undef NEXT
	return s;
}

static void
hold(const struct config *c, const struct site *site, bool null)
{
	struct problems	p = PROBLEMS_INIT;
	struct err	first = ERR_INIT;
	bool		late = false;

	MUST(!config_problems(c, site, &p, NULL));
	for (size_t i = 0; i < p.count; i++) {
		const struct problem	*one = &p.item[i];

		MUST(*one->what && *one->hint && *one->id);
		MUST(one->field >= -1 && one->field < FIELD_COUNT);
		MUST(null || !strstr(one->what, "(null)"));
		MUST(!(late && one->fatal));
		late = !one->fatal;
	}
	if (!site)
		MUST((config_check(c, &first) < 0) == (problems_fatal(&p) > 0));
	problems_clear(&p);
}

static void
export(const struct config *c)
{
	static int	(*const kinds[])(const struct export *, struct buf *,
	    struct err *) = { export_torchrun, export_mpirun, export_slurm,
	    export_deepspeed };
	struct export	x = { .config = c, .from = "f\n.yaml",
	    .python = "python3" };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct buf	out = BUF_INIT;
		struct err	err = ERR_INIT;

		if (kinds[i](&x, &out, &err)) {
			MUST(*err.text && *err.hint);
		} else if (kinds[i] != export_deepspeed) {
			MUST(!strncmp(buf_text(&out), "#!/bin/", 7));
			MUST(strstr(buf_text(&out), "\"$@\"\n"));
		} else {
			json_t	*all = json_loads(buf_text(&out), 0, NULL);

			MUST(json_is_object(all));
			json_decref(all);
		}
		buf_clear(&out);
	}
}

/* Reading that goes on behind an error finds one where reading that stops at it
 * does. */
static void
go_on(const char *text, size_t n, bool fails)
{
	struct config	c;
	struct problems	p = PROBLEMS_INIT;
	int		rc;

	config_init(&c);
	c.faults = &p;
	rc = config_parse(&c, text, n, "f.yaml", NULL);
	MUST((rc < 0 || p.count > 0) == fails);
	for (size_t i = 0; i < p.count; i++)
		MUST(*p.item[i].what && *p.item[i].hint && p.item[i].fatal);
	config_clear(&c);
	problems_clear(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct config	c;
	struct site	site = site_of(hash_bytes(data, n));
	bool		null = memmem(data, n, "(null)", 6) != NULL;

	int		rc;

	config_init(&c);
	rc = config_parse(&c, (const char *)data, n, "f.yaml", NULL);
	go_on((const char *)data, n, rc < 0);
	if (!rc) {
		hold(&c, NULL, null);
		hold(&c, &site, null);
		if (!config_check(&c, NULL))
			export(&c);
	}
	config_clear(&c);
	return 0;
}
