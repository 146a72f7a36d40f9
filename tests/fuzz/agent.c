/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from whoever holds an agent's link.  All of its handlers are here but
 * what would touch this machine: no program starts, no socket opens. */
#include <sys/socket.h>
#include <unistd.h>

#define main(...) agent_main(__VA_ARGS__)
#include "runtime/launch/agent.c"
#undef main

#include "tests/fuzz/fuzz.h"

#define chdir(path) ((void)(path), 0)
#define putenv(item) MUST(item)
#include "runtime/launch/agent_check.c"
#include "runtime/launch/agent_input.c"
#include "runtime/launch/agent_start.c"
#undef chdir
#define socket(...) (errno = EAFNOSUPPORT, -1)
#include "runtime/launch/agent_net.c"
#include "runtime/launch/agent_port.c"
#undef socket
#include "runtime/launch/agent_read.c"
#include "runtime/launch/agent_usage.c"

/* No rank: what follows a fork that fails is all that is left. */
pid_t warden_fork(const struct warden *w)
{
	(void)w;
	errno = EAGAIN;
	return -1;
}

void warden_prepare(struct warden *w, const char *job)
{
	MUST(!job || strlen(job) < WIRE_MAX);
	w->cgroup[0] = '\0';
}

void warden_post(struct warden *w) { (void)w; }
void warden_beat(struct warden *w) { (void)w; }
void warden_dismiss(struct warden *w) { (void)w; }
void agent_facts(struct answer *to, const char *folder)
{
	answer_fact(to, "folder=%s", folder);
}
void agent_python(struct answer *to, const char *python)
{
	answer_fact(to, "python=%s", python);
}
bool agent_activate(struct agent *a, struct answer *to, const char *path)
{
	(void)a, (void)to;
	return *path == '/';
}
int agent_environ(void) { return 0; }
/* Read this machine, and start processes: tests/hosts/probe.t. */
void agent_machine(struct agent *a, struct wire_frame *frame)
{
	(void)a, (void)frame;
}
void agent_listen(struct agent *a, struct wire_frame *frame)
{
	(void)a, (void)frame;
}
void agent_measure(struct agent *a, struct wire_frame *frame)
{
	(void)a, (void)frame;
}
/* Write files: tests/hosts/sync.t and its planted links look after these. */
void agent_tree(struct agent *a, struct wire_frame *frame)
{
	(void)a, (void)frame;
}
void agent_file(struct agent *a, struct wire_frame *frame)
{
	(void)a, (void)frame;
}
void agent_tidy(void) { }
/* Starts a program; tests/unit/gpus.c reads what that says. */
void agent_gpus_ask(struct agent_gpus *g, const char *root)
{
	MUST(!*root);
	g->count = 1;
	g->gpu[0].busy = WIRE_UNKNOWN;
}
void agent_gpus_hear(struct agent_gpus *g) { (void)g; }
void agent_oom_begin(struct agent_oom *o) { (void)o; }
void agent_oom_why(struct agent_oom *o, pid_t pid, char *why, size_t size)
{
	(void)o, (void)pid, (void)size;
	*why = '\0';
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct agent		a = { .held = -1, .claim = -1, .input = { .fd = -1 },
				    .gpus.fd = -1, .linked = true,
				    .warden.line = -1 };
	struct wire_frame	frame;
	struct buf		view;
	int			got;

	signal(SIGPIPE, SIG_IGN);	/* as agent_main does */
	if (n)
		MUST(!buf_add(&a.in, data, n));
	view = a.in;
	while (a.linked && (got = wire_next(&view, &frame)) == 1) {
		obey(&a, &frame);
		wire_skip(&view);
	}
	/* No rank has begun, and whatever it said is frames. */
	for (size_t i = 0; i < a.rank_count; i++)
		MUST(a.rank[i].pid <= 0);
	view = a.out;
	while ((got = wire_next(&view, &frame)) == 1)
		wire_skip(&view);
	MUST(got == 0 && view.len == 0);
	agent_release(&a);
	if (a.input.fd >= 0)
		close(a.input.fd);
	buf_clear(&a.input.pending);
	free(a.rank);
	buf_clear(&a.in);
	buf_clear(&a.out);
	return 0;
}
