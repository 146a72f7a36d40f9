/* SPDX-License-Identifier: Apache-2.0 */
/* agent_check: what is looked at on a host before any rank starts.  All that is
 * wrong is told, not the first thing alone. */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/strv.h"
#include "probes/topology.h"

#include "runtime/base/banned.h"

void
answer_problem(struct answer *to, bool fatal, const char *hint,
    const char *fmt, ...)
{
	char	text[480];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	wire_put(&to->problem, fatal);
	wire_put_text(&to->problem, text);
	wire_put_text(&to->problem, hint);
	to->problems++;
}

void
answer_fact(struct answer *to, const char *fmt, ...)
{
	char	text[4400];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	wire_put_text(&to->fact, text);
	to->facts++;
}

/* Finds a program as execvp would; gives its path. */
static bool
find(const char *program, const char *path, char *full, size_t room)
{
	struct stat st;

	if (strchr(program, '/')) {
		snprintf(full, room, "%s", program);
		return stat(program, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(program, X_OK) == 0;
	}
	while (*path) {
		size_t n = strcspn(path, ":");

		snprintf(full, room, "%.*s/%s", (int)n, path, program);
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(full, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static void
look_at_topology(struct answer *to)
{
	struct strv	 facts = STRV_INIT;
	const char	*root = getenv("ACCEL_DEVICES");

	topology_facts(root ? root : "", &facts);
	for (size_t i = 0; i < facts.count; i++)
		answer_fact(to, "%s", facts.item[i]);
	strv_clear(&facts);
}

static void
look(struct agent *a, struct answer *to, uint32_t what, const char *folder,
    const char *program, const char *script, const char *path,
    const char *activate)
{
	const char	*search;
	char		 full[4096];
	bool		 there = true;

	if (chdir(folder) < 0) {
		answer_problem(to, true, "the working folder must be there on "
		    "every host, or be copied: --sync", "%.200s: %s", folder, strerror(errno));
		there = false;
	}
	/* Without its environment, that a program is missing says nothing. */
	if (*activate && (there || *activate == '/') &&
	    !agent_activate(a, to, activate))
		program = "/";
	search = *path ? path : getenv("PATH");
	if (!search)
		search = "/usr/local/bin:/usr/bin:/bin";
	/* What is relative to a folder that is not there is not worth a line. */
	if (!strcmp(program, "/")) {
		/* said already */
	} else if (there || *program == '/' || !strchr(program, '/')) {
		if (find(program, search, full, sizeof full)) {
			if (what & WIRE_CHECK_PYTHON)
				agent_python(to, full);
		} else if (strchr(program, '/') && access(program, F_OK) == 0)
			answer_problem(to, true, "chmod +x it, or leave out "
			    "--no_python for a script",
			    "%.200s: not a file that can be run", program);
		else
			answer_problem(to, true, "install it there, or give its "
			    "full path", "%.200s: not found on this host",
			    program);
	}
	if (*script && (there || *script == '/') && access(script, R_OK) < 0)
		answer_problem(to, true, "the script must be there on every "
		    "host", "%.200s: %s", script, strerror(errno));
	if (what & WIRE_CHECK_NET)
		agent_interfaces(to);
	if (what & WIRE_CHECK_TOPOLOGY)
		look_at_topology(to);
	if (what & WIRE_CHECK_FACTS)
		agent_facts(to, there ? folder : "/");
}

void
answer_send(struct agent *a, struct answer *all)
{
	size_t answer = wire_begin(&a->out, WIRE_CHECKED);

	wire_put(&a->out, all->problems);
	buf_add(&a->out, buf_text(&all->problem), all->problem.len);
	wire_put(&a->out, all->facts);
	buf_add(&a->out, buf_text(&all->fact), all->fact.len);
	wire_end(&a->out, answer);
	buf_clear(&all->problem);
	buf_clear(&all->fact);
}

void
agent_check(struct agent *a, struct wire_frame *frame)
{
	uint32_t	 what = wire_get(frame);
	char		*folder = wire_get_text(frame);
	char		*program = wire_get_text(frame);
	char		*script = wire_get_text(frame);
	char		*path = wire_get_text(frame);
	char		*activate = wire_get_text(frame);
	struct answer	 all = { 0 };

	if (!folder || !program || !script || !path || !activate)
		answer_problem(&all, true, "", "a broken message");
	else
		look(a, &all, what, a->staged ? a->staged : folder, program, script, path, activate);
	answer_send(a, &all);
	free(folder), free(program), free(script), free(path), free(activate);
}
