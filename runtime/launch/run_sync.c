/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_sync: copies the working folder to hosts that do not share it, over the
 * links that are there.  A list of all files goes first; a host asks for those
 * that it has not, by size and time.
 */
#include "runtime/launch/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum {
	BLOCK = 256 << 10,
	AHEAD = 1 << 20,	/* bytes that wait for a host */
	LIST_MAX = 1 << 20	/* of a frame with names */
};

static void
put_wide(struct buf *out, uint64_t number)
{
	wire_put(out, (uint32_t)number);
	wire_put(out, (uint32_t)(number >> 32));
}

/* Tells two folders of one name apart: by this machine and the whole path. */
static void
copy_name(const char *folder, char *out, size_t room)
{
	char		 whole[4400], machine[256] = "";
	const char	*base = strrchr(folder, '/');
	size_t		 n;

	gethostname(machine, sizeof machine - 1);
	snprintf(whole, sizeof whole, "%s:%s", machine, folder);
	snprintf(out, room, "%016llx-%.60s",
	    (unsigned long long)hash_bytes(whole, strlen(whole)),
	    base ? base + 1 : folder);
	n = 17;
	for (char *c = out + n; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
			*c = '_';
}

bool
run_sync_begin(struct run *run, size_t host)
{
	const char	*folder = run->plan->folder;
	struct buf	*out = &run->peer[host].out;
	struct err	 err = ERR_INIT;
	struct stat	 st;
	char		 mark[100], name[100];
	size_t		 i = 0;

	if (!run->tree.entry && listing_read(&run->tree, folder, &err) < 0) {
		char text[600];

		snprintf(text, sizeof text, "--sync: %s", err.text);
		run_problem(run, host, text, err.hint);
		return false;
	}
	mark[0] = '\0';
	if (stat(folder, &st) == 0)
		snprintf(mark, sizeof mark, "%llu %lld.%09ld",
		    (unsigned long long)st.st_ino, (long long)st.st_ctim.tv_sec,
		    st.st_ctim.tv_nsec);
	copy_name(folder, name, sizeof name);
	do {
		struct buf	part = BUF_INIT;
		size_t		first = i, frame;

		for (; i < run->tree.count && part.len < LIST_MAX; i++) {
			const struct listing_entry *e = &run->tree.entry[i];

			wire_put(&part, (uint32_t)e->kind);
			wire_put_text(&part, e->path);
			wire_put_text(&part, e->target ? e->target : "");
			wire_put(&part, e->mode);
			put_wide(&part, e->size);
			put_wide(&part, (uint64_t)e->mtime_s);
			wire_put(&part, e->mtime_ns);
		}
		frame = wire_begin(out, WIRE_TREE);
		wire_put_text(out, folder);
		wire_put_text(out, mark);
		wire_put_text(out, name);
		wire_put(out, i == run->tree.count);
		wire_put(out, (uint32_t)(i - first));
		buf_add(out, buf_text(&part), part.len);
		wire_end(out, frame);
		buf_clear(&part);
	} while (i < run->tree.count);
	run->peer[host].file = -1;
	return true;
}

static void
hear_want(struct run *run, struct peer *peer, struct wire_frame *frame)
{
	uint32_t n = wire_get(frame);

	if (peer->want || n > run->tree.count)
		return;
	peer->want = calloc(n + 1, sizeof *peer->want);
	for (uint32_t i = 0; peer->want && i < n; i++) {
		uint32_t index = wire_get(frame);

		if (frame->bad || index >= run->tree.count ||
		    run->tree.entry[index].kind != 'f')
			break;
		peer->want[peer->wanted++] = index;
		run->sync_bytes += run->tree.entry[index].size;
	}
	if (!run->sync_began)
		run->sync_began = clock_ms();
}

bool
run_sync_hear(struct run *run, size_t host, struct wire_frame *frame)
{
	struct peer	*peer = &run->peer[host];
	char		*text, *hint;
	bool		 well;

	if (frame->type == WIRE_WANT) {
		hear_want(run, peer, frame);
		return false;
	}
	text = wire_get_text(frame);
	hint = wire_get_text(frame);
	well = text && !*text;
	if (!well) {
		run_problem(run, host, text ? text : "a broken answer", hint);
		peer->sent = peer->wanted;	/* no more of it */
	}
	free(text);
	free(hint);
	return well;
}

/* One block of a file; false where there is an error, which was said. */
static bool
send_block(struct run *run, size_t host)
{
	static char		 block[BLOCK];
	struct peer		*peer = &run->peer[host];
	uint32_t		 index = peer->want[peer->sent];
	const char		*path = run->tree.entry[index].path;
	char			 full[8300], text[600];
	ssize_t			 n = -1;
	size_t			 frame;

	snprintf(full, sizeof full, "%s/%s", run->plan->folder, path);
	if (peer->file < 0)
		peer->file = open(full, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (peer->file >= 0)
		n = read(peer->file, block, sizeof block);
	if (n < 0) {
		snprintf(text, sizeof text, "--sync: cannot read %.300s here: %s",
		    path, strerror(errno));
		run_problem(run, host, text, "or leave it out: .accelignore");
		peer->sent = peer->wanted;
		peer->checked = true;	/* nothing more comes from there */
		return false;
	}
	frame = wire_begin(&peer->out, WIRE_FILE);
	wire_put(&peer->out, index);
	wire_put(&peer->out, n == 0);
	wire_put_bytes(&peer->out, block, (size_t)n);
	wire_end(&peer->out, frame);
	run->sync_sent += (uint64_t)n;
	if (n == 0) {
		close(peer->file);
		peer->file = -1;
		peer->sent++;
	}
	return true;
}

/* What takes over a second is shown. */
static void
show(struct run *run, bool busy)
{
	int64_t now = clock_ms();

	if (!run->sync_began || now - run->sync_began < 1000)
		return;
	if (!isatty(2)) {
		if (!run->sync_shown)
			fprintf(stderr, "accel: copying the working folder, "
			    "%.1f MB\n", (double)run->sync_bytes / 1e6);
		run->sync_shown = now;
	} else if (busy && now - run->sync_shown >= 200) {
		fprintf(stderr, "\raccel: copying the working folder: %.1f of "
		    "%.1f MB", (double)run->sync_sent / 1e6,
		    (double)run->sync_bytes / 1e6);
		run->sync_shown = now;
	} else if (!busy && run->sync_shown) {
		fprintf(stderr, "\r\033[K");
		run->sync_shown = 0;
		run->sync_began = 0;
	}
}

void
run_sync_tick(struct run *run)
{
	bool busy = false;

	for (size_t h = 0; h < hosts(run); h++) {
		struct peer *peer = &run->peer[h];

		while (!peer->closed && peer->sent < peer->wanted &&
		    peer->out.len < AHEAD) {
			peer->phase_at = clock_ms();	/* it gets on */
			if (!send_block(run, h))
				break;
		}
		busy = busy || (!peer->closed && peer->sent < peer->wanted);
	}
	show(run, busy);
}
