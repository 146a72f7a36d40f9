/* SPDX-License-Identifier: Apache-2.0 */
/* accel: start, end and errors. */
#include "runtime/train/accel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/device/ctl.h"
#include "runtime/train/profile.h"
#include "runtime/train/state.h"
#include "runtime/train/track.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

#define ALIKE	"set it for all ranks, or for none: accel launch does"

static _Thread_local struct err last;
static _Thread_local char message[sizeof(last.text) + sizeof(last.hint) + 8];

struct err *
accel__err(void)
{
	return &last;
}

accel_status
accel__fail(accel_status status, const char *fmt, ...)
{
	char text[sizeof(last.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(&last, "%s", text);
	return status;
}

accel_status
accel__status(const accel *a)
{
	if (device_timed_out(&a->dev))
		return ACCEL_ETIMEDOUT;
	return ctl_dead(a->ctl) >= 0 ? ACCEL_EPEER : ACCEL_EBACKEND;
}

const char *
accel_errmsg(void)
{
	if (last.hint[0] == '\0')
		return last.text;
	snprintf(message, sizeof(message), "%s (%s)", last.text, last.hint);
	return message;
}

static int
env_int(const char *name, long lo, long hi, long otherwise, long *out)
{
	const char *text = getenv(name);

	*out = otherwise;
	if (text == NULL || *text == '\0')
		return 0;
	if (num_parse(text, lo, hi, out) == 0)
		return 0;
	err_set(&last, "%s: \"%.60s\" is no number from %ld to %ld", name,
	    text, lo, hi);
	return -1;
}

static int
env_seconds(const char *name, double otherwise, double *out)
{
	const char *text = getenv(name);

	*out = otherwise;
	if (text == NULL || *text == '\0' ||
	    num_parse_real(text, 0.1, 1e6, out) == 0)
		return 0;
	return err_set(&last, "%s: \"%.60s\" is no number of seconds", name,
	    text);
}

/* Seconds that a wait may take: 0 is no limit. */
static int
wait_limit(const accel *a, double *out)
{
	const char *text = getenv("ACCEL_TIMEOUT");

	if (a->config.timeout != 0) {
		*out = a->config.timeout < 0 ? 0 : a->config.timeout;
		return 0;
	}
	if (text != NULL && strcmp(text, "0") == 0) {
		*out = 0;
		return 0;
	}
	return env_seconds("ACCEL_TIMEOUT", 600, out);
}

static bool
set_to(const char *name, const char *value)
{
	const char *text = getenv(name);

	return text != NULL && strcmp(text, value) == 0;
}

static bool
has(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && *text != '\0';
}

/* Who am I, and of how many? */
static int
find_place(accel *a)
{
	bool ours = has("RANK") || has("WORLD_SIZE");
	long rank, world, local, accum;

	if (env_int(ours ? "WORLD_SIZE" : "PMI_SIZE", 1, 1000000, 1,
	    &world) != 0 ||
	    env_int(ours ? "RANK" : "PMI_RANK", 0, world - 1, 0, &rank) != 0 ||
	    env_int(has("LOCAL_RANK") ? "LOCAL_RANK" : "MPI_LOCALRANKID", 0,
	    1000000, 0, &local) != 0 ||
	    env_int("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", 1, 1000000, 1,
	    &accum) != 0)
		return -1;
	if (ours && !has("RANK") && world > 1) {
		err_set(&last, "WORLD_SIZE is %ld and RANK is not set", world);
		return err_hint(&last, "start it with accel launch");
	}
	a->rank = (int)rank;
	a->world = (int)world;
	a->local_rank = (int)local;
	a->with_data = a->world;
	if (a->config.grad_accum == 0)
		a->config.grad_accum = (int)accum;
	return 0;
}

/* One backend would wait in vain for ranks of another. */
static int
same_backend(accel *a, const char *mine)
{
	static const char key[] = "accel.backend";
	struct buf zero = BUF_INIT;
	int rc = 0;

	if (a->ctl == NULL)
		return 0;
	if (a->rank == 0)
		rc = ctl_put(a->ctl, key, mine, strlen(mine), &last);
	if (rc == 0)
		rc = ctl_get(a->ctl, key, &zero, &last);
	if (rc == 0 && strcmp(buf_text(&zero), mine) != 0) {
		rc = err_set(&last, "ACCEL_BACKEND is %s on rank 0 and %s on "
		    "rank %d", buf_text(&zero), mine, a->rank);
		err_hint(&last, "%s", ALIKE);
		ctl_abort(a->ctl, last.text);
	}
	buf_clear(&zero);
	return rc != 0 ? rc : ctl_barrier(a->ctl, "accel_init", &last);
}

static int
connect_ranks(accel *a)
{
	bool pmi = has("PMI_FD") || has("PMI_PORT") || has("PMI_RANK");
	const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
	const char *backend = getenv("ACCEL_BACKEND");
	bool on_gpu = a->config.memory == ACCEL_CUDA;
	struct device_host host = { .rank = a->rank, .world = a->world,
	    .local_rank = a->local_rank, .on_gpu = on_gpu,
	    .stream = a->config.stream };
	struct ctl_config c = {
		.addr = getenv("MASTER_ADDR"), .job = getenv("ACCEL_JOB"),
		.rank = a->rank, .world = a->world,
	};
	long port;

	if (env_int("MASTER_PORT", 1, 65534, 0, &port) != 0 ||
	    env_seconds("ACCEL_PEER_TIMEOUT", 10, &c.limit) != 0 ||
	    env_seconds("ACCEL_START_TIMEOUT", 120, &c.start_limit) != 0 ||
	    wait_limit(a, &c.wait_limit) != 0)
		return -1;
	if (c.limit < 2 * CTL_BEAT) {
		err_set(&last, "ACCEL_PEER_TIMEOUT: %g s are over before the "
		    "second heartbeat", c.limit);
		return err_hint(&last, "at least %g", 2 * CTL_BEAT);
	}
	/* torchrun's own store listens on the port itself. */
	if (agent != NULL && strcmp(agent, "True") == 0)
		port++;
	c.port = (int)port;
	if (c.addr == NULL || *c.addr == '\0')
		c.addr = "127.0.0.1";
	if (c.job == NULL)
		c.job = "";
	if (port == 0 && !pmi) {
		err_set(&last, "WORLD_SIZE is %d and MASTER_PORT is not set",
		    a->world);
		return err_hint(&last, "start it with accel launch, or set "
		    "MASTER_ADDR and MASTER_PORT to rank 0's");
	}
	/* Under mpiexec alone there is no port to meet at: it watches the
	 * ranks itself and ends all when one dies. */
	if (port != 0 && ctl_open(&a->ctl, &c, &last) != 0)
		return -1;
	if (backend == NULL || *backend == '\0')
		backend = on_gpu ? "nccl" : "mpi";
	if (strcmp(backend, "mpi") != 0 && strcmp(backend, "nccl") != 0) {
		err_set(&last, "ACCEL_BACKEND: \"%.40s\" is not known",
		    backend);
		return err_hint(&last, "mpi or nccl");
	}
	if (same_backend(a, backend) != 0 ||
	    (!pmi && ctl_pmi(a->ctl, &last) != 0))
		return -1;
	host.ctl = a->ctl;
	if (accel__mem_open(a) != ACCEL_OK ||
	    device_open(&a->dev, backend, &host, &last) != 0)
		return -1;
	a->staged = on_gpu && !a->dev.orders;
	device_limit(&a->dev, c.wait_limit);
	device_thread(&a->dev, a->config.progress == ACCEL_PROGRESS_THREAD &&
	    !set_to("ACCEL_PROGRESS", "0"));
	return 0;
}

/* What changes the order of exchanges.  What does not may differ: limits of
 * time, who moves exchanges on, what is profiled or tracked. */
static accel_status
same_settings(accel *a)
{
	struct arg arg[] = { { "ACCEL_DEBUG", a->debug, true } };
	accel_status st = accel__agree(a, "accel_init", NULL, arg, 1, NULL);

	if (st == ACCEL_EMISMATCH)
		err_hint(&last, "%s", ALIKE);
	device_debug(&a->dev, a->debug);
	return st;
}

static accel_status
take_config(accel *a, const accel_config *c)
{
	accel_config *mine = &a->config;
	const char *bytes = (const void *)c;

	/* One of an older program ends sooner; one of a newer one may only
	 * have zeros where this library knows nothing. */
	if (c != NULL) {
		size_t known = sizeof(*mine), size = c->size;

		for (size_t i = known; size < 4096 && i < size; i++)
			if (bytes[i] != 0)
				size = 0;
		if (size < offsetof(accel_config, first_bucket_bytes) ||
		    size >= 4096)
			return accel__fail(ACCEL_EINVAL, "accel_config: begin "
			    "with ACCEL_CONFIG_INIT of this library's header");
		memcpy(mine, c, size < known ? size : known);
	}
	if (mine->grad_accum < 0 || mine->bucket_bytes < 0 ||
	    mine->first_bucket_bytes < 0 || mine->powersgd_rank < 0 ||
	    mine->local_steps < 0 || !(mine->loss_scale >= 0) ||
	    !(mine->scale_growth >= 0) || !(mine->scale_backoff >= 0))
		return accel__fail(ACCEL_EINVAL, "accel_config: numbers are "
		    "not negative");
	if (mine->reduce > ACCEL_REDUCE_OWN || mine->reduce < 0 ||
	    mine->compress > ACCEL_COMPRESS_POWERSGD || mine->compress < 0 ||
	    mine->unused > ACCEL_UNUSED_ERROR || mine->unused < 0 ||
	    mine->uneven > ACCEL_UNEVEN_ERROR || mine->uneven < 0 ||
	    mine->progress > ACCEL_PROGRESS_CALLS || mine->progress < 0 ||
	    mine->memory > ACCEL_CUDA || mine->memory < 0)
		return accel__fail(ACCEL_EINVAL, "accel_config: a choice that "
		    "is none");
	if (mine->powersgd_rank == 0)
		mine->powersgd_rank = 1;
	if (mine->powersgd_start == 0)
		mine->powersgd_start = 1000;
	if (mine->scale_growth == 0)
		mine->scale_growth = 2;
	if (mine->scale_backoff == 0)
		mine->scale_backoff = 0.5;
	if (mine->scale_interval == 0)
		mine->scale_interval = 2000;
	a->scale = mine->loss_scale;
	a->scaling = a->scale > 0;
	a->local_steps = mine->local_steps;
	a->debug = set_to("ACCEL_DEBUG", "1");
	return ACCEL_OK;
}

accel_status
accel_init(const accel_config *config, accel **out)
{
	accel *a = calloc(1, sizeof(*a));
	accel_status st;

	*out = NULL;
	if (a == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	a->mem = &a->host;
	if ((st = take_config(a, config)) != ACCEL_OK) {
		free(a);
		return st;
	}
	if (find_place(a) != 0) {
		free(a);
		return ACCEL_EINVAL;
	}
	if (a->world == 1)
		st = accel__mem_open(a);
	else if (connect_ranks(a) != 0)
		st = accel__status(a);
	else
		st = same_settings(a);
	if (st != ACCEL_OK) {
		device_close(&a->dev);
		accel__mem_close(a);
		ctl_close(a->ctl);
		free(a);
		return st;
	}
	track_init(a);
	profile_init(a);
	*out = a;
	return ACCEL_OK;
}

accel_status
accel_fini(accel *a)
{
	accel_status st = ACCEL_OK, saved, traced;

	if (a == NULL)
		return ACCEL_OK;
	if (ctl_dead(a->ctl) < 0 && accel__settle(a) != ACCEL_OK)
		st = accel__status(a);
	device_mark(&a->dev, "accel_fini");
	/* Nobody takes MPI down while another still uses it. */
	if (a->ctl != NULL && ctl_barrier(a->ctl, "accel_fini", &last) != 0)
		st = accel__status(a);
	saved = state_fini(a);
	track_fini(a);
	traced = profile_fini(a);
	device_close(&a->dev);
	ctl_close(a->ctl);
	accel__units_free(a);
	accel__mem_close(a);
	free(a);
	return st != ACCEL_OK ? st : saved != ACCEL_OK ? saved : traced;
}

void
accel_abort(accel *a, const char *why)
{
	if (a->ctl != NULL)
		ctl_abort(a->ctl, why != NULL ? why : "no reason given");
}

int
accel_rank(const accel *a)
{
	return a->rank;
}

int
accel_world(const accel *a)
{
	return a->world;
}

int
accel_local_rank(const accel *a)
{
	return a->local_rank;
}

int
accel_version(void)
{
	return ACCEL_VERSION;
}
