/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/install.h"
#include "tui/form.h"
#include "runtime/base/banned.h"

enum { SAID = 64 << 10, LIMIT_MS = 300000, PATIENCE_MS = 3000 };

static int
write_file(struct trial *t, const struct form *f, struct err *err)
{
	const char *folder = getenv("TMPDIR");
	struct buf path = BUF_INIT;
	ssize_t n;
	int fd;

	buf_addf(&path, "%s/accel-setup-XXXXXX.yaml", folder && *folder ?
	    folder : "/tmp");
	if (!(t->file = buf_detach(&path)))
		return err_nomem(err);
	fd = mkostemps(t->file, 5, O_CLOEXEC);
	if (fd < 0) {
		err_set(err, "cannot make %s: %s", t->file, strerror(errno));
		free(t->file);
		t->file = NULL;
		return -1;
	}
	n = write(fd, buf_text(&f->text), f->text.len);
	close(fd);
	return n == (ssize_t)f->text.len ? 0 : err_set(err,
	    "cannot write %s", t->file);
}

int
trial_start(struct trial *t, const struct form *f, struct err *err)
{
	char *argv[] = { NULL, (char *)(uintptr_t)"test",
	    (char *)(uintptr_t)"--config_file", NULL, NULL };

	trial_clear(t);
	if (write_file(t, f, err)) {
		trial_clear(t);
		return -1;
	}
	argv[0] = install_program("accel");
	argv[3] = t->file;
	if (!argv[0]) {
		err_nomem(err);
	} else if (probe_spawn(argv, true, &t->child, &t->from)) {
		err_set(err, "cannot start %s test: %s", argv[0],
		    strerror(errno));
		t->child = 0;
	}
	free(argv[0]);
	if (!t->child) {
		trial_clear(t);
		return -1;
	}
	fcntl(t->from, F_SETFL, O_NONBLOCK);
	t->said.max = SAID;
	t->began = clock_ms();
	return 0;
}

int
trial_watch(const struct trial *t, struct pollfd *p, int *ms)
{
	if (!t->child)
		return 0;
	*p = (struct pollfd){ .fd = t->from, .events = POLLIN };
	*ms = 1000;			/* the seconds are shown */
	return 1;
}

/* It takes its ranks along; where it does not, it is ended without asking. */
static void
finish(struct trial *t, const char *why)
{
	int64_t end = clock_ms() + PATIENCE_MS;
	int status = 0;

	kill(-t->child, SIGTERM);
	while (!waitpid(t->child, &status, WNOHANG)) {
		if (clock_ms() >= end)
			kill(-t->child, SIGKILL);
		poll(NULL, 0, 5);
	}
	close(t->from);
	t->from = -1;
	t->child = 0;
	t->over = true;
	t->took = clock_ms() - t->began;
	buf_adds(&t->said, why);
	unlink(t->file);
}

/* Its output has ended by itself, and so does it. */
static void
reap(struct trial *t)
{
	int64_t end = clock_ms() + PATIENCE_MS;
	int status = 0;

	while (!waitpid(t->child, &status, WNOHANG) && clock_ms() < end)
		poll(NULL, 0, 5);
	close(t->from);
	t->from = -1;
	t->good = WIFEXITED(status) && !WEXITSTATUS(status);
	t->child = 0;
	t->over = true;
	t->took = clock_ms() - t->began;
	unlink(t->file);
}

bool
trial_wake(struct trial *t, const struct pollfd *p)
{
	char bytes[4096];
	ssize_t n = 0;

	if (!t->child)
		return false;
	if (p->revents)
		while ((n = read(t->from, bytes, sizeof bytes)) > 0)
			buf_add(&t->said, bytes, (size_t)n);
	if (p->revents && n == 0)
		reap(t);
	else if (clock_ms() - t->began > LIMIT_MS)
		finish(t, "\nIt was stopped: no end in five minutes.\n");
	return true;
}

void
trial_clear(struct trial *t)
{
	if (t->child)
		finish(t, "");
	if (t->file)
		unlink(t->file);
	free(t->file);
	buf_clear(&t->said);
	*t = (struct trial)TRIAL_INIT;
}
