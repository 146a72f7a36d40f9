/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/clean.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/buf.h"

#include "runtime/base/banned.h"

enum {
	GROUND,
	LETTER,			/* in UTF-8 of more than one byte */
	ESCAPE,			/* behind ESC */
	ESCAPE_MORE,		/* ESC ( and the like: one more byte */
	CONTROL,		/* ESC [ ... */
	STRING,			/* ESC ] ... up to BEL or ESC \ */
	STRING_ESCAPE
};

static const char replacement[] = "\xEF\xBF\xBD";	/* U+FFFD */

/* How many bytes the letter has that begins so; 0 where none does. */
static unsigned
letter_size(unsigned char first)
{
	return first >= 0xC2 && first <= 0xDF ? 2 :
	    (first & 0xF0) == 0xE0 ? 3 :
	    first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/* May "next" come behind n bytes of a letter?  Overlong forms, surrogates and
 * what is beyond U+10FFFF are seen at the second byte. */
static bool
letter_goes_on(const char *seq, unsigned n, unsigned char next)
{
	unsigned char first = (unsigned char)seq[0];

	if ((next & 0xC0) != 0x80)
		return false;
	if (n > 1)
		return true;
	return !(first == 0xE0 && next < 0xA0) &&
	    !(first == 0xED && next > 0x9F) &&
	    !(first == 0xF0 && next < 0x90) &&
	    !(first == 0xF4 && next > 0x8F);
}

static uint32_t
letter_value(const char *seq, unsigned n)
{
	uint32_t value = (unsigned char)seq[0] & (0x7Fu >> n);

	for (unsigned i = 1; i < n; i++)
		value = value << 6 | ((unsigned char)seq[i] & 0x3F);
	return value;
}

/* C1 is control, as an ESC in front of a letter is; the others turn the order
 * of letters, or end a line where no line ends. */
static bool
letter_harmful(uint32_t v)
{
	return (v >= 0x80 && v < 0xA0) || (v >= 0x202A && v <= 0x202E) ||
	    (v >= 0x2066 && v <= 0x2069) || v == 0x2028 || v == 0x2029;
}

/* The final byte of ESC [ parameters came. */
static void
control(struct clean *c, struct buf *out, char final)
{
	bool plain;

	if (c->n >= sizeof c->seq)
		return;
	c->seq[c->n] = '\0';
	plain = strspn(c->seq, "0123456789;:") == c->n;
	if (plain && final == 'm' && c->colour) {
		buf_addf(out, "\033[%sm", c->seq);
		c->coloured = strspn(c->seq, "0;") != c->n;
	} else if (plain && final == 'K' && c->live)
		buf_addf(out, "\033[%sK", c->seq);
}

static void
ground(struct clean *c, struct buf *out, char byte)
{
	unsigned char b = (unsigned char)byte;

	c->n = 0;
	c->state = GROUND;
	if (b == 033)
		c->state = ESCAPE;
	else if (b >= 0x80) {
		if (letter_size(b)) {
			c->seq[c->n++] = byte;
			c->state = LETTER;
		} else
			buf_adds(out, replacement);
	} else if ((b >= 0x20 && b != 0x7F) || b == '\t' || b == '\n' ||
	    (c->live && (b == '\r' || b == '\b')))
		buf_add(out, &byte, 1);
}

static void
letter(struct clean *c, struct buf *out, char byte)
{
	if (!letter_goes_on(c->seq, c->n, (unsigned char)byte)) {
		buf_adds(out, replacement);
		ground(c, out, byte);
		return;
	}
	c->seq[c->n++] = byte;
	if (c->n < letter_size((unsigned char)c->seq[0]))
		return;
	if (letter_harmful(letter_value(c->seq, c->n)))
		buf_adds(out, replacement);
	else
		buf_add(out, c->seq, c->n);
	c->state = GROUND;
}

static void
one(struct clean *c, struct buf *out, char byte)
{
	unsigned char b = (unsigned char)byte;

	/* A line's end is one in any state, so that no line goes missing. */
	if (b == '\n' && c->state != LETTER) {
		ground(c, out, byte);
		return;
	}
	switch (c->state) {
	case LETTER:
		letter(c, out, byte);
		break;
	case ESCAPE:
		c->n = 0;
		c->state = b == '[' ? CONTROL :
		    b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_' ?
		    STRING : b >= 0x20 && b <= 0x2F ? ESCAPE_MORE : GROUND;
		if (b < 0x20 || b >= 0x7F)
			ground(c, out, byte);
		break;
	case ESCAPE_MORE:
		if (b < 0x20 || b > 0x2F)
			c->state = GROUND;
		break;
	case CONTROL:
		if (b < 0x20 || b >= 0x7F)
			ground(c, out, byte);	/* broken off */
		else if (b >= 0x40) {
			control(c, out, byte);
			c->state = GROUND;
		} else if (c->n < sizeof c->seq)
			c->seq[c->n++] = byte;
		break;
	case STRING:
		if (b == 033)
			c->state = STRING_ESCAPE;
		else if (b == '\a')
			c->state = GROUND;
		break;
	case STRING_ESCAPE:
		c->state = b == 033 ? STRING_ESCAPE :
		    b == '\\' ? GROUND : STRING;
		break;
	default:
		ground(c, out, byte);
	}
}

void
clean_bytes(struct clean *c, struct buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t from = i;

		while (c->state == GROUND && i < n && text[i] >= 0x20 &&
		    text[i] < 0x7F)
			i++;
		buf_add(out, text + from, i - from);
		if (i < n)
			one(c, out, text[i]);
	}
}

void
clean_end(struct clean *c, struct buf *out)
{
	if (c->state == LETTER)
		buf_adds(out, replacement);
	if (c->coloured)
		buf_adds(out, "\033[m");
	c->coloured = false;
	c->state = GROUND;
}

void
clean_line(struct buf *out, const char *text, size_t n, bool colour)
{
	struct clean c = { .colour = colour };

	clean_bytes(&c, out, text, n);
	clean_end(&c, out);
}

char *
clean_text(const char *text)
{
	struct buf clean = BUF_INIT;

	clean_line(&clean, text, strlen(text), false);
	return buf_detach(&clean);
}

void
clean_json(struct buf *out, const char *text, size_t n)
{
	size_t i = 0;

	buf_adds(out, "\"");
	while (i < n) {
		unsigned char	b = (unsigned char)text[i];
		unsigned	size = letter_size(b), k = 1;

		if (b < 0x80) {
			if (b == '"' || b == '\\')
				buf_addf(out, "\\%c", b);
			else if (b == '\n')
				buf_adds(out, "\\n");
			else if (b == '\t')
				buf_adds(out, "\\t");
			else if (b < 0x20 || b == 0x7F)
				buf_addf(out, "\\u%04x", b);
			else
				buf_add(out, text + i, 1);
			i++;
			continue;
		}
		while (k < size && i + k < n && letter_goes_on(text + i, k,
		    (unsigned char)text[i + k]))
			k++;
		if (size && k == size && letter_harmful(letter_value(text + i,
		    size)))
			buf_addf(out, "\\u%04x", letter_value(text + i, size));
		else if (size && k == size)
			buf_add(out, text + i, size);
		else
			buf_adds(out, replacement);
		i += k;
	}
	buf_adds(out, "\"");
}
