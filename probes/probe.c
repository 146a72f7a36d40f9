/* SPDX-License-Identifier: Apache-2.0 */
/* A machine, from all who know something of it. */
#include "probes/probe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/facts.h"
#include "probes/fleet.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

static int
probe_fallbacks(struct machine *m)
{
	char host[256] = "localhost";
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (!m->cpus)
		m->cpus = n > 0 ? (unsigned)n : 1;
	if (!m->cores)
		m->cores = m->cpus;
	if (!m->numa)
		m->numa = 1;
	if (!m->packages)
		m->packages = 1;
	if (!m->memory && m->here && pages > 0 && page > 0)
		m->memory = (uint64_t)pages * (uint64_t)page;
	if (m->hostname)
		return 0;
	if (m->here)
		gethostname(host, sizeof host - 1);
	m->hostname = strdup(m->here ? host : "described");
	return m->hostname ? 0 : -1;
}

static int
probe_files(struct machine *m, const char *root, struct err *err)
{
	struct strv	facts = STRV_INIT;
	int		status = facts_all(root, ".", &facts) < 0 ||
			    machine_take(m, &facts) < 0;

	strv_clear(&facts);
	/* A driver that is loaded may be one that nobody can use. */
	for (size_t i = 0; i < m->gpus && m->here; i++)
		if (!strcmp(m->gpu[i].vendor, "NVIDIA"))
			m->gpu[i].usable = false;
	return status ? err_nomem(err) : 0;
}

int
machine_probe_quickly(struct machine *m, struct err *err)
{
	const char	*root = getenv("ACCEL_DEVICES");
	bool		 far = root && *root;
	int		 status;

	memset(m, 0, sizeof *m);
	status = !far && probe_topology(m) ? err_nomem(err) : 0;
	if (!status && (far || m->here))
		status = probe_files(m, far ? root : "", err);
	if (!status && m->here)
		status = probe_cuda(m, err) || probe_nvml(m, err) ||
		    probe_net(m, err);
	if (!status && (probe_fallbacks(m) || machine_relate(m)))
		status = err_nomem(err);
	if (status)
		machine_clear(m);
	return status ? -1 : 0;
}

int
machine_probe(struct machine *m, struct err *err)
{
	if (machine_probe_quickly(m, err))
		return -1;
	if (m->here && probe_python(m, err)) {
		machine_clear(m);
		return -1;
	}
	return 0;
}

/* hwloc takes its file from the environment. */
static int
load_topology(struct fleet *f, const char *path, struct err *err)
{
	const char	*old = getenv("HWLOC_XMLFILE");
	char		*was = old ? strdup(old) : NULL;
	struct machine	 m, *to;
	int		 status;

	setenv("HWLOC_XMLFILE", path, 1);
	status = machine_probe_quickly(&m, err);
	if (was)
		setenv("HWLOC_XMLFILE", was, 1);
	else
		unsetenv("HWLOC_XMLFILE");
	free(was);
	if (status)
		return -1;
	if (m.here) {		/* it looked at this machine instead */
		machine_clear(&m);
		err_set(err, "%s is no topology that hwloc can read", path);
		return err_hint(err, "write one there: lstopo machine.xml; or "
		    "accel probe --yaml, which says more");
	}
	if (!(to = fleet_add(f))) {
		machine_clear(&m);
		return err_nomem(err);
	}
	*to = m;
	return 0;
}

int
fleet_load(struct fleet *f, const char *path, struct strv *warnings,
    struct err *err)
{
	struct buf	 text = { .max = 16 << 20 };
	const char	*at;
	int		 status;

	if (file_read(path, &text, err) < 0)
		return -1;
	at = buf_text(&text) + strspn(buf_text(&text), " \t\r\n\xef\xbb\xbf");
	status = *at == '<' ? load_topology(f, path, err) : fleet_parse(f,
	    buf_text(&text), text.len, path, warnings, err);
	buf_clear(&text);
	return status;
}
