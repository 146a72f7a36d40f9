/* SPDX-License-Identifier: Apache-2.0 */
/* accel advise: how to train a model on given machines, with the reasons. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/advise.h"
#include "probes/fleet.h"
#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/model.h"
#include "runtime/cli/probe.h"
#include "runtime/config/advice.h"
#include "runtime/launch/beside.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/survey.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

struct words {			/* as they were typed */
	const char		*model, *batch, *sequence, *lora, *optimizer,
	    *write;
	struct model_words	 shape;
	struct strv		 machine, gpus, hosts, hostfile;
	const char		*connect_timeout;
	bool			 cpu, megatron, disk, network, json;
};

#define WORD_OF(symbol, word, what)	word " "

static const struct option options[] = {
	VALUE(struct words, model, "model", 0, "MODEL", TAKES_FILE,
	    "a config.json, weights, a folder or a hub name"),
	MODEL_WORDS(struct words, shape),
	VALUE(struct words, batch, "batch", 0, "N", TAKES_TEXT,
	    "sequences of a step, of all ranks (8 for each)"),
	VALUE(struct words, sequence, "seq", 0, "N", TAKES_TEXT,
	    "tokens of a sequence (the model's, up to 4096)"),
	CHOICE_OF(struct words, optimizer, "optimizer", "KIND",
	    OPTIMIZERS(WORD_OF), OPTIMIZERS(WORD_OF) "(adam)"),
	VALUE(struct words, lora, "lora", 0, "RANK", TAKES_TEXT,
	    "train adapters of this rank, not all"),
	VALUES(struct words, hosts, "hosts", 0, "H1,H2", TAKES_HOSTS,
	    "these machines, over SSH, side by side"),
	VALUES(struct words, hostfile, "hostfile", 0, "FILE", TAKES_FILE,
	    "the same, a line a host"),
	VALUE(struct words, connect_timeout, "connect_timeout", 0, "SECONDS",
	    TAKES_TEXT, "how long a dead host may stay silent (10)"),
	SWITCH(struct words, network, "network", 0,
	    "measure the network between them first"),
	VALUES(struct words, machine, "machine", 0, "FILE", TAKES_YAML,
	    "what accel probe --yaml wrote"),
	VALUES(struct words, gpus, "gpus", 0, "GPUS", TAKES_TEXT,
	    "machines in a word: 8xH100, 2x8x80GB:nvlink"),
	SWITCH(struct words, cpu, "cpu", 0, "leave the GPUs alone"),
	SWITCH(struct words, megatron, "megatron", 0,
	    "the script is written for Megatron-LM"),
	SWITCH(struct words, disk, "disk", 0, "offload to a disk is fine"),
	VALUE(struct words, write, "write", 0, "FILE", TAKES_YAML,
	    "write the proposal as a configuration"),
	SWITCH(struct words, json, "json", 0, "as JSON"),
	OPTIONS_END
};

struct hosts_found {
	struct advice_host	*host;
	size_t			 count;
	size_t			 real;	/* the first ones: not of --gpus */
};

/* This machine, where no other was named. */
static int
look_here(struct hosts_found *h, struct err *err)
{
	struct fleet	 fleet = FLEET_INIT;
	struct machine	*m = fleet_add(&fleet);
	int		 ret;

	if (!m)
		return err_nomem(err);
	ret = machine_probe_quickly(m, err);
	if (ret == 0)
		ret = fleet_advise(&fleet, &h->host, &h->count, err);
	fleet_clear(&fleet);
	return ret;
}

/* Those that cannot be asked are left out, with a word. */
static int
take_fleet(struct hosts_found *h, const struct fleet *fleet, struct err *err)
{
	for (size_t i = 0; i < fleet->count; i++) {
		const struct machine	*m = &fleet->machine[i];

		if (m->problem)
			fprintf(stderr, "accel advise: warning: %s is left "
			    "out: %s\n", m->host ? m->host : "a machine",
			    m->problem);
	}
	return fleet_advise(fleet, &h->host, &h->count, err);
}

static int
read_machines(struct hosts_found *h, const struct words *w, struct err *err)
{
	struct fleet	fleet = FLEET_INIT;
	int		ret = probe_read_files(&fleet, &w->machine, err);

	if (ret == 0)
		ret = take_fleet(h, &fleet, err);
	fleet_clear(&fleet);
	return ret;
}

/* Other machines, over SSH. */
static int
ask_machines(struct hosts_found *h, const struct words *w, struct err *err)
{
	static const struct strv	none;
	const struct launch_said	said = { &w->hosts, &w->hostfile,
	    &none, &none, NULL, w->connect_timeout };
	struct transport_options	transport = { .srun = false };
	struct survey_options		how = { .transport = &transport,
	    .no_python = true, .network = w->network };
	struct hosts	 hosts = HOSTS_INIT;
	struct fleet	 fleet = FLEET_INIT;
	struct strv	 env = STRV_INIT;
	char		*agent = launch_agent();
	double		 grace;
	long		 timeout = 0;
	int		 ret;

	if (!agent)
		return err_nomem(err);
	if (launch_read(&said, &hosts, &env, &grace, &timeout, err) < 0)
		ret = EXIT_USAGE;
	else if (!hosts.count)
		ret = 0;
	else {
		transport.agent_path = agent;
		transport.connect_timeout_s = (int)timeout;
		ret = survey(&hosts, &how, &fleet, err);
		if (ret == 0)
			ret = take_fleet(h, &fleet, err);
	}
	fleet_clear(&fleet);
	hosts_clear(&hosts);
	strv_clear(&env);
	free(agent);
	return ret;
}

static int
find_hosts(struct hosts_found *h, const struct words *w, struct err *err)
{
	int	ret;

	if (w->network && !w->hosts.count && !w->hostfile.count) {
		err_set(err, "--network measures between hosts, and none are "
		    "named");
		err_hint(err, "name them: --hosts H1,H2");
		return EXIT_USAGE;
	}
	if ((ret = read_machines(h, w, err)) != 0 ||
	    (ret = ask_machines(h, w, err)) != 0)
		return ret;
	h->real = h->count;
	for (size_t i = 0; i < w->gpus.count; i++)
		if (advice_hosts(&h->host, &h->count, w->gpus.item[i],
		    err) < 0)
			return EXIT_USAGE;
	if (!w->machine.count && !w->gpus.count && !w->hosts.count &&
	    !w->hostfile.count)
		return look_here(h, err);
	if (!h->count) {
		err_set(err, "none of the machines could be asked");
		return err_hint(err, "see above; accel probe --yaml, run "
		    "there, writes a file for --machine");
	}
	return 0;
}

static int
take_words(struct advice_order *o, const struct words *w, struct err *err)
{
	o->cpu = w->cpu;
	o->megatron = w->megatron;
	o->disk = w->disk;
	o->optimizer = OPTIMIZER_ADAM;
	if (w->optimizer)
		o->optimizer = (enum optimizer)memory_word(optimizer_words,
		    OPTIMIZER_COUNT, w->optimizer);
	if (cli_count(w->batch, "batch", 1L << 24, &o->batch, err) < 0 ||
	    cli_count(w->sequence, "seq", 1L << 24, &o->sequence, err) < 0)
		return -1;
	return cli_count(w->lora, "lora", 1L << 12, &o->lora, err);
}

static int
print(const struct advice *a, const struct words *w, struct err *err)
{
	struct buf	 out = BUF_INIT;
	json_t		*json;
	int		 ret;

	if (w->json) {
		json = advice_json(a);
		ret = json_print(json, err);
		json_decref(json);
		return ret;
	}
	if ((ret = advice_text(a, 79, &out)) < 0)
		err_nomem(err);
	else {
		fputs(buf_text(&out), stdout);
		if (fflush(stdout))
			ret = err_set(err, "cannot write: %s",
			    strerror(errno));
	}
	buf_clear(&out);
	return ret;
}

/* The hosts go beside it, where accel launch finds them. */
static int
write_hosts(const struct advice *a, const struct hosts_found *h,
    const char *path, struct err *err)
{
	struct beside	 beside = BESIDE_INIT;
	struct buf	 list = BUF_INIT;
	int		 ret = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (!a->ranks[i])
			continue;
		if (i >= h->real)	/* of a word: nobody to reach */
			goto out;
		buf_addf(&list, "%s%s:%ld", list.len ? "," : "",
		    h->host[i].name, a->ranks[i]);
	}
	if (a->plan.hosts < 2)
		goto out;
	ret = beside_read(&beside, path, err);
	if (ret == 0) {
		free(beside.hosts);
		if (!(beside.hosts = buf_detach(&list)))
			ret = err_nomem(err);
		else
			ret = beside_write(&beside, path, err);
	}
out:
	beside_clear(&beside);
	buf_clear(&list);
	return ret;
}

/* A file that is there keeps what the proposal does not touch. */
static int
write_config(const struct advice *a, const struct hosts_found *h,
    const char *path, struct err *err)
{
	struct config	 c;
	const char	*notice;
	FILE		*there = fopen(path, "r");
	int		 ret = 0;

	config_init(&c);
	if (there) {
		fclose(there);
		ret = config_read(&c, path, err);
	}
	if (ret == 0)
		ret = advice_apply(a, &a->plan, &c, err);
	if (ret == 0)
		ret = config_save(&c, path, 0, &notice, err);
	if (ret == 0 && notice)
		fprintf(stderr, "accel advise: %s was written anew: %s\n",
		    path, notice);
	config_clear(&c);
	if (ret == 0)
		ret = write_hosts(a, h, path, err);
	if (ret == 0)
		fprintf(stderr, "written: %s\n", path);
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct words	*w = call->options;
	struct hosts_found	 hosts = { NULL, 0, 0 };
	struct model		 model = { .name = NULL };
	struct advice_order	 order = { .host = NULL };
	struct advice		 advice;
	int			 ret;

	if (take_words(&order, w, err) < 0)
		return EXIT_USAGE;
	if ((ret = cli_model(&model, w->model, &w->shape, "accel advise "
	    "--model config.json", err)) < 0 ||
	    (ret = find_hosts(&hosts, w, err)) != 0)
		goto out;
	order.host = hosts.host;
	order.hosts = hosts.count;
	order.model = &model;
	if ((ret = advise(&advice, &order, err)) < 0)
		goto out;
	ret = print(&advice, w, err);
	if (ret == 0 && w->write && advice.fits)
		ret = write_config(&advice, &hosts, w->write, err);
	else if (ret == 0 && w->write) {
		err_set(err, "%s is not written: nothing fits", w->write);
		ret = err_hint(err, "see what would fit, above");
	}
	advice_clear(&advice);
out:
	free(hosts.host);
	model_clear(&model);
	return ret;
}

const struct command command_advise = {
	"advise", "propose how to train a model here, and say why", .run = run,
	.about = "Proposes how to train a model on this machine, or on those "
	    "of --machine and\n--gpus: distributed type, sharding, precision, "
	    "offload, mesh and batch, each\nwith its reason, the memory and "
	    "the time that it takes, and the two next best\nways.",
	.page = "accel-advise(1)", .options = options,
	.size = sizeof(struct words),
};
