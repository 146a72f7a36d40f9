/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher may say, and what is typed meanwhile: a line is an event, ">"
 * and keys, or "<" and words of its stderr. */
#include "tests/fuzz/fuzz.h"
#include "tui/runview.h"
#include "tui/runview_screen.h"

#include <curses.h>

/* Nothing reaches a terminal that it would obey. */
static void
check_text(const char *text)
{
	for (; text && *text; text++)
		MUST((unsigned char)*text >= ' ' && *text != 127);
}

static void
check(const struct run_view *v)
{
	uint64_t at;

	MUST(v->rows ? v->cursor < v->rows : v->cursor == 0);
	MUST(v->log.count <= LOG_LINES && v->log.bytes <= LOG_BYTES);
	MUST(v->said.len <= VIEW_SAID);
	MUST(v->serieses <= VIEW_SERIES && v->troubles <= VIEW_TROUBLES);
	for (size_t h = 0; h < v->hosts; h++) {
		check_text(v->host[h].name);
		check_text(v->host[h].what);
	}
	for (size_t i = 0; i < v->world; i++) {
		MUST(v->rank[i].host < v->hosts && v->order[i] < v->world);
		check_text(v->rank[i].end);
	}
	check_text(v->record);
	check_text(v->failure.why);
	for (size_t i = 0; i < v->serieses; i++)
		check_text(v->series[i].name);
	if (runview_bottom(v, &at))
		check_text(log_get(&v->log, at)->text);
}

static void
type(struct run_view *v, const char *keys, size_t n)
{
	v->log_h = v->list_h = 5;
	for (size_t i = 0; i < n; i++) {
		unsigned char key = (unsigned char)keys[i];

		if (key >= 0xfe)
			runview_click(v, key - 0xfe);
		else if (key >= 0x80)
			runview_key(v, KEY_MIN + key - 0x80, true);
		else
			runview_key(v, key, false);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct run_view	v;
	struct buf	text = BUF_INIT;
	const char	*at = (const char *)data, *end = at + n;
	int64_t		now = 0;
	char		line[200], time[24];

	MUST(runview_init(&v, "accel launch x", 0) == 0);
	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t	    length = (size_t)((nl ? nl : end) - at);

		if (length && *at == '>')
			type(&v, at + 1, length - 1);
		else if (length && *at == '<')
			runview_say(&v, at + 1, length - 1 + (nl != NULL));
		else
			runview_event(&v, now, at, length);
		now += 60;
		runview_tick(&v, now);
		check(&v);
		at += length + 1;
	}
	runview_summary(&v, line, sizeof line);
	runview_elapsed(&v, now, time);
	for (size_t i = 0; i < v.serieses; i++)
		series_spark(&v.series[i], 20, true, &text);
	runview_over(&v, now, n ? data[0] : 0);
	runview_farewell(&v, &text);
	check(&v);
	runview_again(&v, now);
	check(&v);
	runview_clear(&v);
	buf_clear(&text);
	return 0;
}
