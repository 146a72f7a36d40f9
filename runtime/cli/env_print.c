/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/env.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "probes/software.h"
#include "runtime/base/buf.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

static const double	GIB = 0x1p30;

/* Names of facts as people read them, in the order of the report. */
static const struct {
	const char	*fact, *label;
} labels[] = {
	{ "kernel",	"Kernel" },
	{ "cpu",	"CPU" },
	{ "container",	"Container" },
	{ "driver",	"NVIDIA driver" },
	{ "cuda",	"CUDA toolkit" },
	{ "nvcc",	"nvcc" },
	{ "cudart",	"CUDA runtime" },
	{ "nccl",	"NCCL" },
	{ "cudnn",	"cuDNN" },
	{ "rocm",	"ROCm" },
	{ "rccl",	"RCCL" },
	{ "mpich",	"MPICH" },
	{ "openmpi",	"Open MPI" },
	{ "mpiexec",	"mpiexec" },
	{ "ssh",	"ssh" },
	{ "ssh_agent",	"ssh agent" },
	{ "slurm",	"Slurm job" },
	{ "git",	"git" },
};

static double
bytes_of(const struct report *r, const char *fact)
{
	const char	*text = strv_getenv(&r->software, fact);
	double		 value;

	return text && num_parse_real(text, 0, 0x1p62, &value) == 0 ? value : 0;
}

/* What torch.cuda and its like would say, without importing torch. */
static const char *
accelerator(const struct report *r, const struct gpu **gpu)
{
	bool	cuda = strv_getenv(&r->packages, "torch_cuda") ||
	    strv_getenv(&r->packages, "torch_hip");

	*gpu = NULL;
	for (size_t i = 0; i < r->machine.gpus && !*gpu; i++)
		if (r->machine.gpu[i].usable)
			*gpu = &r->machine.gpu[i];
	if (*gpu && cuda)
		return "CUDA";
	*gpu = NULL;
	return "N/A";
}

/* The values of a file. */

static bool
is_bare(const struct field *f, const char *text)
{
	double	value;

	return f->flags & FIELD_BARE && num_parse_real(text, -1e300, 1e300,
	    &value) == 0;
}

static void
quote(struct buf *out, const char *text)
{
	char	mark = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';

	buf_add(out, &mark, 1);
	for (; *text; text++) {
		if (*text == mark || *text == '\\')
			buf_adds(out, "\\");
		if (*text == '\n')
			buf_adds(out, "\\n");
		else
			buf_add(out, text, 1);
	}
	buf_add(out, &mark, 1);
}

static void
add_list(struct buf *out, const char *text)
{
	const char	*end, *gap = "";

	buf_adds(out, "[");
	for (; (end = strchr(text, '\n')); text = end + 1) {
		struct buf item = BUF_INIT;

		buf_add(&item, text, (size_t)(end - text));
		buf_adds(out, gap);
		quote(out, buf_text(&item));
		buf_clear(&item);
		gap = ", ";
	}
	buf_adds(out, "]");
}

/* As Python writes it; inside a mapping a text has quotes. */
static void
add_value(struct buf *out, const struct config *c, enum field_id id,
    bool inside)
{
	const struct field	*f = &fields[id];
	struct buf		 text = BUF_INIT;

	config_get(c, id, &text);
	if (f->flags & FIELD_SECRET && text.len)
		buf_adds(out, "(hidden)");
	else if (config_null(c, id))
		buf_adds(out, "None");
	else if (f->type == TYPE_BOOL || (f->flags & FIELD_BARE &&
	    (!strcmp(buf_text(&text), "true") ||
	    !strcmp(buf_text(&text), "false"))))
		buf_adds(out, *buf_text(&text) == 't' ? "True" : "False");
	else if (f->type == TYPE_LIST)
		add_list(out, buf_text(&text));
	else if (inside && (f->type == TYPE_TEXT || f->type == TYPE_CHOICE) &&
	    !is_bare(f, buf_text(&text)))
		quote(out, buf_text(&text));
	else
		buf_adds(out, buf_text(&text));
	buf_clear(&text);
}

static void
add_config(struct buf *out, const struct report *r)
{
	const struct config	*c = r->config;
	const char		*group = "", *gap = "";

	buf_adds(out, r->asked ? "- `Accelerate` config passed:\n" :
	    "- `Accelerate` default config:\n");
	if (r->wrong)
		buf_addf(out, "\tCannot be read: %s\n", r->wrong);
	else if (!c->path)
		buf_adds(out, "\tNot found\n");
	for (int i = 0; i < FIELD_COUNT && c->path && !r->wrong; i++) {
		enum field_id id = (enum field_id)i;

		if (!c->in_file[i])
			continue;
		if (strcmp(group, fields[i].group)) {
			if (*group)
				buf_adds(out, "}\n");
			group = fields[i].group;
			if (*group)
				buf_addf(out, "\t- %s: {", group);
			gap = "";
		}
		if (*group)
			buf_addf(out, "%s'%s': ", gap, fields[i].key);
		else
			buf_addf(out, "\t- %s: ", fields[i].key);
		add_value(out, c, id, *group);
		if (!*group)
			buf_adds(out, "\n");
		gap = ", ";
	}
	if (*group)
		buf_adds(out, "}\n");
}

/* The text. */

static void
line(struct buf *out, const char *label, const char *value)
{
	buf_addf(out, "- %s: %s\n", label, value ? value : "Not found");
}

/* Accelerate's lines, word for word. */
static void
add_accelerate(struct buf *out, const struct report *r)
{
	const char		*kind, *unknown = r->python ? "Not found" :
	    "not asked";
	const struct gpu	*gpu;
	char			*path = probe_which("accelerate");
	const struct { const char *label, *fact; } packages[] = {
		{ "Python version", "version" }, { "Numpy version", "numpy" },
		{ "PyTorch version", "torch" },
	};

	kind = accelerator(r, &gpu);
	buf_adds(out, "\nCopy-and-paste the text below in your GitHub issue\n"
	    "\n");
	buf_addf(out, "- `Accelerate` version: %s\n",
	    strv_getenv(&r->packages, "accelerate") ?
	    strv_getenv(&r->packages, "accelerate") : unknown);
	buf_addf(out, "- Platform: %s-with-%s\n",
	    strv_getenv(&r->software, "kernel"),
	    strv_getenv(&r->software, "libc"));
	line(out, "`accelerate` bash location", path);
	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
		const char *value = strv_getenv(&r->packages,
		    packages[i].fact);

		line(out, packages[i].label, value ? value : unknown);
	}
	line(out, "PyTorch accelerator", r->python ? kind : unknown);
	buf_addf(out, "- System RAM: %.2f GB\n", bytes_of(r, "memory") / GIB);
	if (gpu && gpu->model)
		line(out, "GPU type", gpu->model);
	add_config(out, r);
	free(path);
}

static void
add_machine(struct buf *out, const struct report *r)
{
	const struct machine	*m = &r->machine;

	buf_addf(out, "- Host: %s\n", m->hostname);
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		const char *value = strv_getenv(&r->software, labels[i].fact);

		if (value)
			line(out, labels[i].label, value);
		if (strcmp(labels[i].fact, "cpu"))
			continue;
		buf_addf(out, "- Topology: %u package%s, %u NUMA node%s, %u "
		    "core%s, %u logical CPU%s\n", m->packages,
		    m->packages == 1 ? "" : "s", m->numa, m->numa == 1 ? "" :
		    "s", m->cores, m->cores == 1 ? "" : "s", m->cpus,
		    m->cpus == 1 ? "" : "s");
		buf_addf(out, "- Memory: %.1f GiB, %.1f available, swap %.1f, "
		    "/dev/shm %.1f\n", bytes_of(r, "memory") / GIB,
		    bytes_of(r, "available") / GIB, bytes_of(r, "swap") / GIB,
		    bytes_of(r, "shm") / GIB);
	}
	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu *g = &m->gpu[i];

		buf_addf(out, "- GPU %zu: %s%s%s", i, g->model &&
		    strstr(g->model, g->vendor) ? "" : g->vendor, g->model &&
		    !strstr(g->model, g->vendor) ? " " : "", g->model ?
		    g->model : "");
		if (g->memory)
			buf_addf(out, ", %.1f GiB", (double)g->memory / GIB);
		if (g->major)
			buf_addf(out, ", capability %d.%d", g->major, g->minor);
		buf_addf(out, "%s\n", g->usable ? "" : ", no driver answers");
	}
	if (!m->gpus)
		line(out, "GPU", "none");
	for (size_t i = 0; i < m->ifaces; i++) {
		const struct iface *n = &m->iface[i];

		if (n->loopback)
			continue;
		buf_addf(out, "- Network %s: %s, %s", n->name, n->address ?
		    n->address : "no address", n->up ? "up" : "down");
		if (n->speed)
			buf_addf(out, ", %.4g Gbit/s", (double)n->speed / 1e3);
		buf_adds(out, "\n");
	}
}

int
env_text(const struct report *r, struct buf *out)
{
	static const char *const said[] = {
		"version", "accelerate", "numpy", "torch",
	};
	const char	*gap = "";

	add_accelerate(out, r);
	buf_addf(out, "\n- `accel` version: %s (%s)\n", PACKAGE_VERSION,
	    BUILD_OPTIONS);
	line(out, "Configuration", r->config->path ? r->config->path :
	    r->wrong ? r->wrong : "defaults");
	add_machine(out, r);
	if (r->packages.count)
		buf_adds(out, "- Python: ");
	for (size_t i = 0; i < r->packages.count; i++) {
		const char	*item = r->packages.item[i];
		size_t		 n = strcspn(item, "=");
		bool		 above = false;

		for (size_t k = 0; k < sizeof said / sizeof *said; k++)
			above |= strlen(said[k]) == n &&
			    !strncmp(item, said[k], n);
		if (above)
			continue;
		if (!strncmp(item, "executable=", 11))
			buf_addf(out, "%s%s", gap, item + 11);
		else
			buf_addf(out, "%s%.*s %s", gap, (int)n, item,
			    item + n + 1);
		gap = ", ";
	}
	if (r->packages.count)
		buf_adds(out, "\n");
	for (size_t i = 0; i < r->variables.count; i++)
		buf_addf(out, "%s\t- %s\n", i ? "" : "- Environment:\n",
		    r->variables.item[i]);
	return buf_failed(out) ? -1 : 0;
}

/* JSON. */

/* NAME=VALUE as a mapping. */
static json_t *
mapping(const struct strv *v)
{
	json_t	*all = json_object();

	for (size_t i = 0; i < v->count; i++) {
		const char	*item = v->item[i];
		size_t		 n = strcspn(item, "=");
		char		*name = strndup(item, n);

		/* What is not UTF-8 cannot stand in JSON. */
		if (name && json_object_set_new(all, name,
		    json_string(item + n + 1)) < 0)
			json_object_set_new(all, name, json_null());
		free(name);
	}
	return all;
}

static json_t *
values(const struct report *r)
{
	json_t	*all = json_object();

	for (int i = 0; i < FIELD_COUNT; i++) {
		struct buf	 text = BUF_INIT;
		json_t		*to = all;

		if (!r->config->in_file[i] || r->wrong)
			continue;
		if (*fields[i].group) {
			to = json_object_get(all, fields[i].group);
			if (!to) {
				to = json_object();
				json_object_set_new(all, fields[i].group, to);
			}
		}
		if (fields[i].flags & FIELD_SECRET)
			buf_adds(&text, "(hidden)");
		else
			config_get(r->config, (enum field_id)i, &text);
		json_object_set_new(to, fields[i].key,
		    json_string(buf_text(&text)));
		buf_clear(&text);
	}
	return all;
}

static json_t *
gpus(const struct machine *m)
{
	json_t	*all = json_array();

	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu *g = &m->gpu[i];

		json_array_append_new(all, json_pack("{s:s, s:s?, s:s?, s:I, "
		    "s:i, s:i, s:b}", "vendor", g->vendor, "model", g->model,
		    "pci", g->pci, "memory", (json_int_t)g->memory,
		    "major", g->major, "minor", g->minor,
		    "usable", g->usable));
	}
	return all;
}

static json_t *
interfaces(const struct machine *m)
{
	json_t	*all = json_array();

	for (size_t i = 0; i < m->ifaces; i++) {
		const struct iface *n = &m->iface[i];

		json_array_append_new(all, json_pack("{s:s, s:s?, s:b, s:b, "
		    "s:I}", "name", n->name, "address", n->address,
		    "up", n->up, "loopback", n->loopback,
		    "mbit_s", (json_int_t)n->speed));
	}
	return all;
}

int
env_json(const struct report *r, struct buf *out)
{
	const struct machine	*m = &r->machine;
	const struct gpu	*gpu;
	json_t			*all;
	char			*text;

	all = json_pack("{s:{s:s, s:s}, s:{s:s?, s:s?, s:o}, s:{s:s, s:i, s:i, "
	    "s:i, s:i, s:I}, s:o, s:o, s:o, s:o, s:s?, s:o}",
	    "accel", "version", PACKAGE_VERSION, "build", BUILD_OPTIONS,
	    "config", "path", r->config->path, "error", r->wrong,
	    "values", values(r),
	    "host", "name", m->hostname, "packages", (int)m->packages,
	    "numa_nodes", (int)m->numa, "cores", (int)m->cores,
	    "cpus", (int)m->cpus, "memory", (json_int_t)(bytes_of(r,
	    "memory") > 0 ? bytes_of(r, "memory") : (double)m->memory),
	    "gpus", gpus(m), "interfaces", interfaces(m),
	    "software", mapping(&r->software),
	    "python", r->python ? mapping(&r->packages) : json_null(),
	    "accelerator", r->python ? accelerator(r, &gpu) : NULL,
	    "environment", mapping(&r->variables));
	text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
	json_decref(all);
	if (!text)
		return -1;
	buf_addf(out, "%s\n", text);
	free(text);
	return buf_failed(out) ? -1 : 0;
}
