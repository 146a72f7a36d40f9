/* SPDX-License-Identifier: Apache-2.0 */
/* A text as a file of --machine, as a row of accel probe, and, line by line, as
 * what another host's agent says. */
#include "probes/facts.h"
#include "probes/fleet.h"
#include "probes/smi.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "tests/fuzz/fuzz.h"

/* What was read is written, and that is read as the same. */
static void
again(const struct fleet *f)
{
	struct fleet	other = FLEET_INIT;
	struct buf	one = BUF_INIT, two = BUF_INIT;
	struct err	err = ERR_INIT;

	MUST(!fleet_yaml(f, &one));
	MUST(!fleet_parse(&other, buf_text(&one), one.len, "again", NULL,
	    &err));
	MUST(other.count == f->count && other.pairs == f->pairs);
	MUST(!fleet_yaml(&other, &two));
	MUST(!strcmp(buf_text(&one), buf_text(&two)));
	buf_clear(&one);
	MUST(!fleet_json(f, &one));
	fleet_print_network(f, &two);
	for (size_t i = 0; i < f->count; i++) {
		machine_print(&f->machine[i], &two);
		machine_row(&f->machine[i], &two);
	}
	for (const char *c = buf_text(&two); *c; c++)
		MUST((unsigned char)*c >= ' ' || *c == '\n');
	buf_clear(&one);
	buf_clear(&two);
	fleet_clear(&other);
}

static void
as_file(const char *text, size_t n)
{
	struct fleet	f = FLEET_INIT;
	struct strv	warnings = STRV_INIT;
	struct err	err = ERR_INIT;

	if (fleet_parse(&f, text, n, "file", &warnings, &err) < 0)
		MUST(!f.count && !f.pairs && *err.text);
	else if (f.count)
		again(&f);
	fleet_clear(&f);
	strv_clear(&warnings);
	if (fleet_parse_row(&f, text, n, &err) < 0)
		MUST(!f.count && *err.text);
	fleet_clear(&f);
}

static void
as_facts(const char *text)
{
	struct fleet	f = FLEET_INIT;
	struct machine	*m = fleet_add(&f);
	struct strv	facts = STRV_INIT;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		strv_addf(&facts, "%.*s", (int)strcspn(text, "\n"), text);
	MUST(!machine_take(m, &facts) && !machine_take_smi(m, &facts) &&
	    !machine_relate(m));
	for (size_t i = 0; i < m->links; i++)
		MUST(m->link[i].a < m->link[i].b && m->link[i].b < m->gpus);
	/* As survey.c completes it. */
	if (!m->hostname)
		m->hostname = strdup("h");
	m->cpus = m->cpus ? m->cpus : 1;
	m->cores = m->cores ? m->cores : m->cpus;
	m->numa = m->numa ? m->numa : 1;
	m->packages = m->packages ? m->packages : 1;
	again(&f);
	fleet_clear(&f);
	strv_clear(&facts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = '\0';
	as_file(text, n);
	if (n < 20000)
		as_facts(text);
	free(text);
	return 0;
}
