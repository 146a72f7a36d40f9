/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/runview_log.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/launch/clean.h"

#include "runtime/base/banned.h"

enum { TAB = 8 };

void
log_clean(struct buf *out, const char *text, size_t n)
{
	struct buf	clean = BUF_INIT;
	size_t		column = 0;

	clean_line(&clean, text, n, false);
	for (size_t i = 0; i < clean.len; i++) {
		char c = clean.data[i];

		if (c == '\t')
			do
				buf_adds(out, " ");
			while (++column % TAB);
		else {
			buf_add(out, c == '\n' ? " " : &c, 1);
			column += (c & 0xc0) != 0x80;
		}
	}
	buf_clear(&clean);
}

static size_t
cost(const struct log_line *line)
{
	return sizeof *line + line->n + 1 + (line->ranks.bits ?
	    (line->ranks.world + 63) / 64 * sizeof(uint64_t) : 0);
}

static void
line_free(struct log_line *line)
{
	if (line->ranks.bits == &line->few)
		line->ranks.bits = NULL;
	ranks_clear(&line->ranks);
	free(line);
}

static void
drop_oldest(struct run_log *l)
{
	struct log_line *line = l->line[l->first_at];

	l->bytes -= cost(line);
	line_free(line);
	l->first_at = (l->first_at + 1) % l->room;
	l->first++;
	l->count--;
}

static int
grow(struct run_log *l)
{
	size_t		  room = l->room ? 2 * l->room : 256;
	struct log_line	**line = calloc(room, sizeof *line);

	if (!line)
		return -1;
	for (size_t i = 0; i < l->count; i++)
		line[i] = l->line[(l->first_at + i) % l->room];
	free(l->line);
	l->line = line;
	l->room = room;
	l->first_at = 0;
	return 0;
}

static struct log_line *
line_new(const struct ranks *ranks, int stream, const char *text, size_t n)
{
	struct log_line *line = malloc(sizeof *line + n + 1);
	size_t		 words = ranks ? (ranks->world + 63) / 64 : 0;

	if (!line)
		return NULL;
	*line = (struct log_line){ .stream = stream, .n = n };
	memcpy(line->text, text, n);
	line->text[n] = '\0';
	if (!ranks || !ranks->bits)
		return line;
	line->ranks = *ranks;
	line->ranks.bits = words == 1 ? &line->few :
	    malloc(words * sizeof(uint64_t));
	if (!line->ranks.bits) {
		free(line);
		return NULL;
	}
	memcpy(line->ranks.bits, ranks->bits, words * sizeof(uint64_t));
	return line;
}

void
log_add(struct run_log *l, const struct ranks *ranks, int stream,
    const char *text, size_t n)
{
	struct buf	 clean = BUF_INIT;
	struct log_line	*line;

	if (n > LOG_WIDTH)
		n = LOG_WIDTH;
	log_clean(&clean, text, n);
	line = line_new(ranks, stream, buf_text(&clean), clean.len);
	buf_clear(&clean);
	if (!line)
		return;
	while (l->count && (l->count == LOG_LINES ||
	    l->bytes + cost(line) > LOG_BYTES))
		drop_oldest(l);
	if (l->count == l->room && grow(l) < 0) {
		line_free(line);
		return;
	}
	l->line[(l->first_at + l->count++) % l->room] = line;
	l->bytes += cost(line);
}

uint64_t
log_end(const struct run_log *l)
{
	return l->first + l->count;
}

const struct log_line *
log_get(const struct run_log *l, uint64_t number)
{
	if (number < l->first || number >= log_end(l))
		return NULL;
	return l->line[(l->first_at + (size_t)(number - l->first)) % l->room];
}

bool
log_passes(const struct log_line *line, const struct ranks *only)
{
	if (!only || !line->ranks.count || only->world != line->ranks.world)
		return true;
	for (size_t i = 0; only->bits && i < (only->world + 63) / 64; i++)
		if (only->bits[i] & line->ranks.bits[i])
			return true;
	return false;
}

bool
log_seek(const struct run_log *l, uint64_t *number, int step,
    const struct ranks *only, const char *text)
{
	uint64_t	       at = *number;
	const struct log_line *line;

	if (step < 0 && at > log_end(l))
		at = log_end(l);
	if (step > 0 && at < l->first)
		at = l->first - 1;	/* may wrap around, and back */
	while ((line = log_get(l, step < 0 ? --at : ++at)))
		if (log_passes(line, only) && (!*text ||
		    strcasestr(line->text, text))) {
			*number = at;
			return true;
		}
	return false;
}

void
log_clear(struct run_log *l)
{
	while (l->count)
		drop_oldest(l);
	free(l->line);
	*l = (struct run_log)RUN_LOG_INIT;
}
