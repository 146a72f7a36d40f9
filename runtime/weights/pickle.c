/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/weights/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

struct pickle_block {
	struct pickle_block	*next;
	size_t			 used, room;
	uint64_t		 data[];	/* aligned for a value */
};

struct reader {
	struct pickle		*out;
	const unsigned char	*data;
	size_t			 n, at, op;	/* op: of the opcode */
	bool			(*known)(const char *name);
	struct pickle_value	**stack, **memo;
	struct pickle_value	*byte[256], *nothing;	/* shared: 0 to 255, () */
	size_t			*mark;
	size_t			 depth, stack_room, memos, memo_room, marks,
	    mark_room;
	struct err		*err;
};

static int
refuse(struct reader *r, const char *what)
{
	err_set(r->err, "byte %zu: %s", r->op, what);
	return err_hint(r->err, "it is damaged, or no checkpoint of PyTorch; "
	    "nothing in it was run");
}

static void *
take(struct reader *r, size_t n)
{
	struct pickle_block	*b = r->out->blocks;
	void			*p;

	n = (n + sizeof *b->data - 1) / sizeof *b->data * sizeof *b->data;
	if (!b || b->room - b->used < n) {
		size_t room = n > 65536 ? n : 65536;

		b = malloc(sizeof *b + room);
		if (!b) {
			err_nomem(r->err);
			return NULL;
		}
		*b = (struct pickle_block){ r->out->blocks, 0, room };
		r->out->blocks = b;
	}
	p = (char *)b->data + b->used;
	b->used += n;
	return p;
}

/* Makes room for one more in a growing array. */
static int
grow(struct reader *r, void *array, size_t count, size_t *room, size_t size)
{
	void	**at = array, *grown;
	size_t	  want = *room ? *room * 2 : 64;

	if (count < *room)
		return 0;
	grown = realloc(*at, want * size);
	if (!grown)
		return err_nomem(r->err);
	*at = grown;
	*room = want;
	return 0;
}

static int
push(struct reader *r, struct pickle_value *v)
{
	if (!v || grow(r, &r->stack, r->depth, &r->stack_room,
	    sizeof *r->stack) < 0)
		return -1;
	r->stack[r->depth++] = v;
	return 0;
}

static struct pickle_value *
value(struct reader *r, enum pickle_kind kind)
{
	struct pickle_value *v = take(r, sizeof *v);

	if (v)
		*v = (struct pickle_value){ .kind = kind };
	return v;
}

static int
push_number(struct reader *r, enum pickle_kind kind, int64_t number)
{
	struct pickle_value	**shared = kind == PICKLE_INT && number >= 0 &&
	    number < 256 ? &r->byte[number] : NULL, *v;

	if (shared && *shared)
		return push(r, *shared);
	if ((v = value(r, kind)))
		v->number = number;
	if (shared)
		*shared = v;
	return push(r, v);
}

/* What may be taken from the stack: not beyond the last mark. */
static size_t
above_mark(const struct reader *r)
{
	return r->depth - (r->marks ? r->mark[r->marks - 1] : 0);
}

static struct pickle_value *
pop(struct reader *r)
{
	if (!above_mark(r)) {
		refuse(r, "an operation lacks its operands");
		return NULL;
	}
	return r->stack[--r->depth];
}

static int
pop_mark(struct reader *r, size_t *first)
{
	if (!r->marks)
		return refuse(r, "an operation lacks its mark");
	*first = r->mark[--r->marks];
	return 0;
}

/* The next n bytes, or NULL. */
static const unsigned char *
bytes(struct reader *r, size_t n)
{
	if (r->n - r->at < n) {
		refuse(r, "the data end inside an operation");
		return NULL;
	}
	r->at += n;
	return r->data + r->at - n;
}

/* A little-endian number of "width" bytes. */
static int
number(struct reader *r, int width, uint64_t *out)
{
	const unsigned char *p = bytes(r, (size_t)width);

	*out = 0;
	if (!p)
		return -1;
	for (int i = width - 1; i >= 0; i--)
		*out = *out << 8 | p[i];
	return 0;
}

static const char *
copy(struct reader *r, const void *data, size_t n)
{
	char *text = take(r, n + 1);

	if (text) {
		memcpy(text, data, n);
		text[n] = '\0';
	}
	return text;
}

static int
push_text(struct reader *r, enum pickle_kind kind, int width)
{
	const unsigned char	*p;
	struct pickle_value	*v;
	uint64_t		 n;

	if (number(r, width, &n) < 0)
		return -1;
	if (n > r->n)
		return refuse(r, "a text is longer than the data");
	if (!(p = bytes(r, (size_t)n)) || !(v = value(r, kind)) ||
	    !(v->text = copy(r, p, (size_t)n)))
		return -1;
	v->n = (size_t)n;
	return push(r, v);
}

static int
push_long(struct reader *r)
{
	const unsigned char	*p;
	uint64_t		 n, u = 0;

	if (number(r, 1, &n) < 0)
		return -1;
	if (n > 8)
		return refuse(r, "a whole number of more than 64 bits");
	if (!(p = bytes(r, (size_t)n)))
		return -1;
	for (size_t i = 0; i < 8; i++) {
		uint64_t b = i < n ? p[i] : n && p[n - 1] & 0x80 ? 0xff : 0;

		u |= b << (8 * i);
	}
	return push_number(r, PICKLE_INT, (int64_t)u);
}

static int
push_real(struct reader *r)
{
	const unsigned char	*p;
	struct pickle_value	*v;
	uint64_t		 u = 0;

	if (!(p = bytes(r, 8)) || !(v = value(r, PICKLE_REAL)))
		return -1;
	for (int i = 0; i < 8; i++)	/* big-endian, this one */
		u = u << 8 | p[i];
	memcpy(&v->real, &u, sizeof u);
	return push(r, v);
}

static int
push_name(struct reader *r, const char *module, size_t module_n,
    const char *name, size_t name_n)
{
	struct pickle_value	*v = value(r, PICKLE_NAME);
	char			*text;

	if (!v || !(text = take(r, module_n + name_n + 2)))
		return -1;
	memcpy(text, module, module_n);
	text[module_n] = ' ';
	memcpy(text + module_n + 1, name, name_n);
	v->n = module_n + 1 + name_n;
	text[v->n] = '\0';
	v->text = text;
	if (strlen(text) == v->n && r->known(text))
		return push(r, v);
	text[module_n] = '.';
	err_set(r->err, "byte %zu: %s is not among the classes of a "
	    "checkpoint, and is refused", r->op, text);
	return err_hint(r->err, "it is from a newer PyTorch or was put there "
	    "to be run; nothing was run");
}

/* GLOBAL: two lines. */
static int
read_global(struct reader *r)
{
	const char	*text[2];
	size_t		 n[2];

	for (int i = 0; i < 2; i++) {
		const char *end;

		text[i] = (const char *)r->data + r->at;
		end = r->at < r->n ? memchr(text[i], '\n', r->n - r->at) : NULL;
		if (!end)
			return refuse(r, "the data end inside a name");
		n[i] = (size_t)(end - text[i]);
		r->at += n[i] + 1;
	}
	return push_name(r, text[0], n[0], text[1], n[1]);
}

static int
stack_global(struct reader *r)
{
	struct pickle_value *name = pop(r), *module = name ? pop(r) : NULL;

	if (!module)
		return -1;
	if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
		return refuse(r, "a name that is no text");
	return push_name(r, module->text, module->n, name->text, name->n);
}

static int
push_items(struct reader *r, enum pickle_kind kind, size_t first)
{
	struct pickle_value *v = value(r, kind);

	if (!v)
		return -1;
	v->n = v->room = r->depth - first;
	if (v->n) {
		v->item = take(r, v->n * sizeof *v->item);
		if (!v->item)
			return -1;
		memcpy(v->item, r->stack + first, v->n * sizeof *v->item);
	}
	r->depth = first;
	return push(r, v);
}

static int
push_tuple(struct reader *r, size_t n)
{
	if (above_mark(r) < n)
		return refuse(r, "a tuple lacks its items");
	if (!n && !r->nothing)
		r->nothing = value(r, PICKLE_TUPLE);
	if (!n)
		return push(r, r->nothing);
	return push_items(r, PICKLE_TUPLE, r->depth - n);
}

/* Moves the stack from "first" on into the list or dict below it. */
static int
add_items(struct reader *r, enum pickle_kind kind, size_t first)
{
	size_t			 n = r->depth - first;
	struct pickle_value	*v, **item;

	if (first == 0 || (r->marks && first <= r->mark[r->marks - 1]))
		return refuse(r, "items without a list or dict");
	v = r->stack[first - 1];
	if (v->kind != kind)
		return refuse(r, kind == PICKLE_DICT ?
		    "pairs for what is no dict" : "items for what is no list");
	if (kind == PICKLE_DICT && n % 2)
		return refuse(r, "a key without its value");
	if (v->room - v->n < n) {
		size_t room = (v->n + n) * 2;

		item = take(r, room * sizeof *item);
		if (!item)
			return -1;
		if (v->n)
			memcpy(item, v->item, v->n * sizeof *item);
		v->item = item;
		v->room = room;
	}
	if (n)
		memcpy(v->item + v->n, r->stack + first, n * sizeof *v->item);
	v->n += n;
	r->depth = first;
	return 0;
}

static int
add_one(struct reader *r, enum pickle_kind kind, size_t n)
{
	if (above_mark(r) < n)
		return refuse(r, "an operation lacks its operands");
	return add_items(r, kind, r->depth - n);
}

/* NEWOBJ and REDUCE alike: a name and a tuple become an object. */
static int
make_object(struct reader *r)
{
	struct pickle_value	*args = pop(r), *of = args ? pop(r) : NULL, *v;

	if (!of)
		return -1;
	if (of->kind != PICKLE_NAME || args->kind != PICKLE_TUPLE)
		return refuse(r, "a call of what is no class");
	if (!strcmp(of->text, "collections OrderedDict") && !args->n)
		return push(r, value(r, PICKLE_DICT));
	v = value(r, PICKLE_OBJECT);
	if (!v)
		return -1;
	v->text = of->text;
	v->n = of->n;
	v->args = args;
	return push(r, v);
}

static int
build(struct reader *r)
{
	struct pickle_value *state = pop(r);

	if (!state)
		return -1;
	if (!above_mark(r) ||
	    r->stack[r->depth - 1]->kind != PICKLE_OBJECT)
		return refuse(r, "state for what is no object");
	r->stack[r->depth - 1]->state = state;
	return 0;
}

static int
persistent(struct reader *r)
{
	struct pickle_value *id = pop(r), *v = id ?
	    value(r, PICKLE_PERSISTENT) : NULL;

	if (v)
		v->args = id;
	return push(r, v);
}

/* A writer numbers what it keeps from 0 on, so no number is beyond the length
 * of the data. */
static int
memo_put(struct reader *r, uint64_t at)
{
	if (!above_mark(r))
		return refuse(r, "nothing there to be remembered");
	if (at >= r->n)
		return refuse(r, "a memo's number is out of range");
	while (r->memos <= at) {
		if (grow(r, &r->memo, r->memos, &r->memo_room,
		    sizeof *r->memo) < 0)
			return -1;
		r->memo[r->memos++] = NULL;
	}
	r->memo[at] = r->stack[r->depth - 1];
	return 0;
}

static int
memo_get(struct reader *r, uint64_t at)
{
	if (at >= r->memos || !r->memo[at])
		return refuse(r, "nothing was remembered under this number");
	return push(r, r->memo[at]);
}

static int
set_mark(struct reader *r)
{
	if (grow(r, &r->mark, r->marks, &r->mark_room, sizeof *r->mark) < 0)
		return -1;
	r->mark[r->marks++] = r->depth;
	return 0;
}

/* One operation: 1 after the last, 0, or -1. */
static int
step(struct reader *r)
{
	const unsigned char	*op;
	uint64_t		 n = 0;
	size_t			 first = 0;
	char			 what[64];

	r->op = r->at;
	if (!(op = bytes(r, 1)))
		return -1;
	switch (*op) {
	case 0x80:				/* PROTO */
		if (number(r, 1, &n) < 0)
			return -1;
		return n > 5 ? refuse(r, "a protocol above 5") : 0;
	case 0x95: return number(r, 8, &n);	/* FRAME: its length */
	case '.':
		if (r->depth != 1 || r->marks)
			return refuse(r, "the end comes too early");
		return 1;
	case '(': return set_mark(r);
	case 'N': return push_number(r, PICKLE_NONE, 0);
	case 0x88: return push_number(r, PICKLE_BOOL, 1);
	case 0x89: return push_number(r, PICKLE_BOOL, 0);
	case 'J':
		return number(r, 4, &n) < 0 ? -1 :
		    push_number(r, PICKLE_INT, (int32_t)n);
	case 'K':
		return number(r, 1, &n) < 0 ? -1 :
		    push_number(r, PICKLE_INT, (int64_t)n);
	case 'M':
		return number(r, 2, &n) < 0 ? -1 :
		    push_number(r, PICKLE_INT, (int64_t)n);
	case 0x8a: return push_long(r);
	case 'G': return push_real(r);
	case 0x8c: return push_text(r, PICKLE_TEXT, 1);
	case 'X': return push_text(r, PICKLE_TEXT, 4);
	case 0x8d: return push_text(r, PICKLE_TEXT, 8);
	case 'C': return push_text(r, PICKLE_BYTES, 1);
	case 'B': return push_text(r, PICKLE_BYTES, 4);
	case 0x8e: return push_text(r, PICKLE_BYTES, 8);
	case ')': return push_tuple(r, 0);
	case 0x85: return push_tuple(r, 1);
	case 0x86: return push_tuple(r, 2);
	case 0x87: return push_tuple(r, 3);
	case 't':
		return pop_mark(r, &first) < 0 ? -1 :
		    push_items(r, PICKLE_TUPLE, first);
	case ']': return push(r, value(r, PICKLE_LIST));
	case '}': return push(r, value(r, PICKLE_DICT));
	case 'a': return add_one(r, PICKLE_LIST, 1);
	case 's': return add_one(r, PICKLE_DICT, 2);
	case 'e':
		return pop_mark(r, &first) < 0 ? -1 :
		    add_items(r, PICKLE_LIST, first);
	case 'u':
		return pop_mark(r, &first) < 0 ? -1 :
		    add_items(r, PICKLE_DICT, first);
	case 'c': return read_global(r);
	case 0x93: return stack_global(r);
	case 0x81: case 'R': return make_object(r);
	case 'b': return build(r);
	case 'Q': return persistent(r);
	case 'q': return number(r, 1, &n) < 0 ? -1 : memo_put(r, n);
	case 'r': return number(r, 4, &n) < 0 ? -1 : memo_put(r, n);
	case 0x94: return memo_put(r, r->memos);
	case 'h': return number(r, 1, &n) < 0 ? -1 : memo_get(r, n);
	case 'j': return number(r, 4, &n) < 0 ? -1 : memo_get(r, n);
	}
	snprintf(what, sizeof what, "the operation 0x%02x is none of a "
	    "checkpoint's", *op);
	return refuse(r, what);
}

int
pickle_read(struct pickle *p, const void *data, size_t n,
    bool (*known)(const char *name), struct err *err)
{
	struct reader	r = { .out = p, .data = data, .n = n, .known = known,
	    .err = err };
	int		ret;

	*p = (struct pickle)PICKLE_INIT;
	while ((ret = step(&r)) == 0)
		;
	if (ret > 0)
		p->root = r.stack[0];
	free(r.stack);
	free(r.memo);
	free(r.mark);
	if (ret > 0)
		return 0;
	pickle_clear(p);
	return -1;
}

void
pickle_clear(struct pickle *p)
{
	while (p->blocks) {
		struct pickle_block *next = p->blocks->next;

		free(p->blocks);
		p->blocks = next;
	}
	p->root = NULL;
}

const struct pickle_value *
pickle_get(const struct pickle_value *v, const char *key)
{
	size_t n = strlen(key);

	if (v && v->kind == PICKLE_OBJECT)
		v = v->state;
	if (!v || v->kind != PICKLE_DICT)
		return NULL;
	for (size_t i = 0; i + 1 < v->n; i += 2)
		if (v->item[i]->kind == PICKLE_TEXT && v->item[i]->n == n &&
		    !memcmp(v->item[i]->text, key, n))
			return v->item[i + 1];
	return NULL;
}

bool
pickle_is(const struct pickle_value *v, const char *name)
{
	return v && v->kind == PICKLE_OBJECT && !strcmp(v->text, name);
}
