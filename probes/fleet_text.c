/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured between hosts, in words. */
#include <stdio.h>
#include <string.h>

#include "probes/fleet.h"
#include "runtime/base/buf.h"
#include "runtime/base/banned.h"

enum { TABLE_MOST = 24 };	/* hosts */

static const char *
name_of(const struct fleet *f, size_t i)
{
	const struct machine *m = &f->machine[i];

	return m->host ? m->host : m->hostname ? m->hostname : "?";
}

/* From each row's host to each column's, which has its number as head: names
 * are too long for columns. */
static void
print_table(const struct fleet *f, bool latency, struct buf *out)
{
	size_t width = 4;

	for (size_t i = 0; i < f->count; i++)
		if (strlen(name_of(f, i)) > width)
			width = strlen(name_of(f, i));
	buf_addf(out, "\n%s\n%*s", latency ? "one way, in microseconds (half "
	    "the median round trip of 8 bytes over TCP)" :
	    "Gbit/s, one TCP stream, one direction at a time",
	    (int)width + 4, "to");
	for (size_t k = 0; k < f->count; k++)
		buf_addf(out, " %7zu", k);
	buf_adds(out, "\n");
	for (size_t i = 0; i < f->count; i++) {
		buf_addf(out, "%3zu %-*s", i, (int)width, name_of(f, i));
		for (size_t k = 0; k < f->count; k++) {
			const struct between *b = fleet_between(f, (unsigned)i,
			    (unsigned)k);

			if (i == k || !b)
				buf_addf(out, " %7s", i == k ? "." : "");
			else if (b->problem)
				buf_addf(out, " %7s", "-");
			else
				buf_addf(out, " %7.4g", latency ?
				    b->latency_us : b->gbit_s);
		}
		buf_adds(out, "\n");
	}
}

/* No terminal is that wide: the best and the worst. */
static void
print_ends(const struct fleet *f, struct buf *out)
{
	const struct between *slow = NULL, *fast = NULL, *late = NULL;

	for (size_t i = 0; i < f->pairs; i++) {
		const struct between *b = &f->between[i];

		if (b->problem)
			continue;
		slow = !slow || b->gbit_s < slow->gbit_s ? b : slow;
		fast = !fast || b->gbit_s > fast->gbit_s ? b : fast;
		late = !late || b->latency_us > late->latency_us ? b : late;
	}
	if (!slow)
		return;
	buf_addf(out, "\nnetwork  %.4g to %.4g Gbit/s, one TCP stream; the "
	    "slowest is %s to %s\n", slow->gbit_s, fast->gbit_s,
	    name_of(f, slow->from), name_of(f, slow->to));
	buf_addf(out, "         at most %.4g microseconds one way, %s to %s\n",
	    late->latency_us, name_of(f, late->from), name_of(f, late->to));
}

int
fleet_print_network(const struct fleet *f, struct buf *out)
{
	if (!f->pairs)
		return 0;
	if (f->count <= TABLE_MOST) {
		print_table(f, true, out);
		print_table(f, false, out);
	} else
		print_ends(f, out);
	for (size_t i = 0; i < f->pairs; i++)
		if (f->between[i].problem)
			buf_addf(out, "%s to %s: %s\n",
			    name_of(f, f->between[i].from),
			    name_of(f, f->between[i].to),
			    f->between[i].problem);
	return buf_failed(out) ? -1 : 0;
}
