/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a configuration: what is read is written so that it reads back
 * as the same, and a node knows its bytes. */
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/intern.h"
#include "tests/fuzz/fuzz.h"

/* Plain words are as they stand, but for line ends, NEL among them. */
static bool
one_line(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' || text[i] == '\r' || text[i] & 0x80)
			return false;
	return true;
}

static void
marks(const char *text, size_t n)
{
	struct tree	tree;

	if (tree_read(&tree, text, n, "f", TREE_TABS, NULL))
		return;
	for (size_t i = 0; i < tree.count; i++) {
		const struct node	*node = tree.all[i];
		size_t			 size = node->end - node->start;

		MUST(node->start <= node->end && node->end <= n);
		MUST(node->line > 0 && node->column > 0);
		if (node->type == NODE_SCALAR && !node->quoted &&
		    !node->marked && one_line(text + node->start, size))
			MUST(size == strlen(node->text) && !memcmp(text +
			    node->start, node->text, size));
	}
	tree_clear(&tree);
}

static void
print(const struct config *c, struct buf *out)
{
	MUST(!config_print(c, out));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct config	c, again;
	struct err	err = ERR_INIT;
	struct buf	one = BUF_INIT, two = BUF_INIT;
	const char	*name = n && *data == '{' ? "f.json" : "f.yaml";

	marks((const char *)data, n);
	config_init(&c);
	config_init(&again);
	c.keep_unknown = again.keep_unknown = true;
	if (config_parse(&c, (const char *)data, n, name, &err))
		MUST(*err.text);
	else {
		print(&c, &one);
		if (config_parse(&again, buf_text(&one), one.len, "f.yaml",
		    &err)) {
			fprintf(stderr, "%s\n%s\n", err.text, buf_text(&one));
			abort();
		}
		print(&again, &two);
		if (strcmp(buf_text(&one), buf_text(&two))) {
			fprintf(stderr, "%s\n=====\n%s\n", buf_text(&one),
			    buf_text(&two));
			abort();
		}
		buf_clear(&two);
		MUST(!config_print_json(&c, &two));
	}
	config_clear(&c);
	config_clear(&again);
	buf_clear(&one);
	buf_clear(&two);
	return 0;
}
