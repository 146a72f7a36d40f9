/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a checkpoint's manifest, and as its content with the checksum that
 * belongs to it. */
#include <jansson.h>

#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/train/state_read.h"
#include "tests/fuzz/fuzz.h"

static void
parse(const char *text, size_t n)
{
	struct state_manifest m;
	struct err err = ERR_INIT;

	if (state_manifest_parse(&m, text, n, "f", &err)) {
		MUST(*err.text && !m.count && !m.info.count);
		return;
	}
	for (size_t i = 0; i < m.count; i++)
		MUST(m.file[i].name[0] != '.' && !strchr(m.file[i].name, '/'));
	state_manifest_clear(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	json_t *content = json_loadb((const char *)data, n, 0, NULL), *root;
	char *text, crc[16];

	parse((const char *)data, n);
	if (content == NULL)
		return 0;
	text = json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS);
	MUST(text != NULL);
	snprintf(crc, sizeof(crc), "%08x", crc32c(0, text, strlen(text)));
	free(text);
	root = json_pack("{s:o, s:s}", "content", content, "crc32c", crc);
	text = json_dumps(root, 0);
	MUST(text != NULL);
	parse(text, strlen(text));
	free(text);
	json_decref(root);
	return 0;
}
