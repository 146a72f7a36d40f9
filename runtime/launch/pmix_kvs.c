/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of PMI-1 is a short text: a block goes as hexadecimal pieces, and
 * then the number of its bytes, for which the others wait.
 */
#include "runtime/launch/pmix_kvs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

enum { PIECE = 448, LINE = 1536, BLOCK_MAX = 1 << 30 };

/* One line there and one back; the answer's value, or NULL. */
static char *
ask(struct pmix_kvs *kvs, const char *line, char answer[LINE])
{
	size_t	 n = strlen(line), got = 0;
	ssize_t	 r;
	char	*value;

	while (n > 0) {
		r = send(kvs->fd, line, n, MSG_NOSIGNAL);
		if (r < 0 && errno != EINTR)
			return NULL;
		line += r > 0 ? r : 0;
		n -= r > 0 ? (size_t)r : 0;
	}
	while (got == 0 || answer[got - 1] != '\n') {
		r = got < LINE - 1 ? read(kvs->fd, answer + got, LINE - 1 - got)
		    : 0;
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return NULL;
		got += (size_t)r;
	}
	answer[got - 1] = '\0';
	if (!strstr(answer, " rc=0 "))
		return NULL;
	value = strstr(answer, "value=");
	return value ? value + 6 : answer;
}

int
pmix_kvs_put(struct pmix_kvs *kvs, size_t round, size_t host, const void *data,
    size_t n)
{
	static const char	 digits[] = "0123456789abcdef";
	const unsigned char	*bytes = data;
	char			 line[LINE], answer[LINE];

	for (size_t at = 0; at < n; at += PIECE) {
		int	k = snprintf(line, sizeof line, "cmd=put kvsname=pmix "
			    "key=pmix-%zu-%zu-%zu value=", round, host,
			    at / PIECE);

		for (size_t i = at; i < n && i < at + PIECE; i++) {
			line[k++] = digits[bytes[i] >> 4];
			line[k++] = digits[bytes[i] & 15];
		}
		line[k++] = '\n';
		line[k] = '\0';
		if (!ask(kvs, line, answer))
			return -1;
	}
	snprintf(line, sizeof line, "cmd=put kvsname=pmix key=pmix-%zu-%zu "
	    "value=%zu\n", round, host, n);
	return ask(kvs, line, answer) ? 0 : -1;
}

static int
digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
pmix_kvs_get(struct pmix_kvs *kvs, size_t round, size_t host, struct buf *out)
{
	char	 line[LINE], answer[LINE], *value;
	long	 n;

	snprintf(line, sizeof line, "cmd=get_wait kvsname=pmix "
	    "key=pmix-%zu-%zu\n", round, host);
	value = ask(kvs, line, answer);
	if (!value || num_parse(value, 0, BLOCK_MAX, &n) < 0)
		return -1;
	for (long at = 0; at < n; at += PIECE) {
		long	left = n - at < PIECE ? n - at : PIECE;

		snprintf(line, sizeof line, "cmd=get kvsname=pmix "
		    "key=pmix-%zu-%zu-%ld\n", round, host, at / PIECE);
		value = ask(kvs, line, answer);
		if (!value || strlen(value) != 2 * (size_t)left)
			return -1;
		for (long i = 0; i < left; i++) {
			int	high = digit(value[2 * i]);
			int	low = digit(value[2 * i + 1]);
			char	byte = (char)(high << 4 | low);

			if (high < 0 || low < 0 || buf_add(out, &byte, 1) < 0)
				return -1;
		}
	}
	return 0;
}
