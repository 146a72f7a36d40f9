/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/pmix_server.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/pmix_kvs.h"

#include "runtime/base/banned.h"

/* Of libpmix, all that is used. */
static struct {
	__typeof__(PMIx_server_init)		*init;
	__typeof__(PMIx_server_finalize)	*finalize;
	__typeof__(PMIx_generate_regex)		*regex;
	__typeof__(PMIx_generate_ppn)		*ppn;
	__typeof__(PMIx_server_register_nspace)	*nspace;
	__typeof__(PMIx_server_register_client)	*client;
	__typeof__(PMIx_server_setup_fork)	*fork;
	__typeof__(PMIx_Error_string)		*words;
} lib;

static struct {
	struct pmix_job	 job;
	long		 first, world;	/* first rank here */
	struct pmix_kvs	 kvs;
	pthread_mutex_t	 lock;
	pthread_cond_t	 changed;
	bool		 answered;	/* by libpmix, what was asked last */
	size_t		 rounds, round;	/* of fences: begun, and whose turn */
} server = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER
};

static int
load(struct err *err)
{
	static const struct { const char *name; void *to; } all[] = {
		{ "PMIx_server_init", &lib.init },
		{ "PMIx_server_finalize", &lib.finalize },
		{ "PMIx_generate_regex", &lib.regex },
		{ "PMIx_generate_ppn", &lib.ppn },
		{ "PMIx_server_register_nspace", &lib.nspace },
		{ "PMIx_server_register_client", &lib.client },
		{ "PMIx_server_setup_fork", &lib.fork },
		{ "PMIx_Error_string", &lib.words },
	};
	void	*file = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL), *symbol;

	for (size_t i = 0; file && i < sizeof all / sizeof *all; i++) {
		symbol = dlsym(file, all[i].name);
		if (!symbol)
			file = NULL;
		memcpy(all[i].to, &symbol, sizeof symbol);
	}
	if (file)
		return 0;
	err_set(err, "no PMIx: %s", dlerror());
	return err_hint(err, "Open MPI programs need libpmix on each host: "
	    "Debian has it as libpmix2");
}

static int
bad(const char *what, pmix_status_t status, struct err *err)
{
	return err_set(err, "PMIx, %s: %s", what, lib.words(status));
}

/* What is asked of libpmix and answered by its own thread. */
static void
answered(pmix_status_t status, void *user)
{
	pthread_mutex_lock(&server.lock);
	*(pmix_status_t *)user = status;
	server.answered = true;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
}

static pmix_status_t
wait_answer(pmix_status_t asked, pmix_status_t *status)
{
	if (asked == PMIX_OPERATION_SUCCEEDED)
		return PMIX_SUCCESS;
	if (asked != PMIX_SUCCESS)
		return asked;
	pthread_mutex_lock(&server.lock);
	while (!server.answered)
		pthread_cond_wait(&server.changed, &server.lock);
	server.answered = false;
	pthread_mutex_unlock(&server.lock);
	return *status;
}

/* Callbacks, in libpmix's thread. */
static pmix_status_t
came_or_went(const pmix_proc_t *who, void *object, pmix_op_cbfunc_t done,
    void *user)
{
	(void)who, (void)object, (void)done, (void)user;
	return PMIX_OPERATION_SUCCEEDED;
}

/* Its exit code tells the launcher, and the launcher the others. */
static pmix_status_t
aborted(const pmix_proc_t *who, void *object, int status, const char words[],
    pmix_proc_t whom[], size_t count, pmix_op_cbfunc_t done, void *user)
{
	(void)who, (void)object, (void)status, (void)words, (void)whom;
	(void)count, (void)done, (void)user;
	return PMIX_OPERATION_SUCCEEDED;
}

struct fence {
	size_t			 round;
	char			*data;	/* of the ranks here; ours */
	size_t			 n;
	pmix_modex_cbfunc_t	 done;
	void			*user;
};

/* All hosts' blocks, in turn: each host meets the same fences in the same
 * order. */
static void *
exchange(void *opaque)
{
	struct fence	*fence = opaque;
	struct buf	 all = BUF_INIT;
	int		 ret = 0;
	size_t		 n;
	char		*data;

	pthread_mutex_lock(&server.lock);
	while (server.round != fence->round)
		pthread_cond_wait(&server.changed, &server.lock);
	pthread_mutex_unlock(&server.lock);
	if (server.job.hosts > 1)
		ret = pmix_kvs_put(&server.kvs, fence->round, server.job.host,
		    fence->data, fence->n);
	for (size_t h = 0; ret == 0 && h < server.job.hosts; h++)
		ret = h == server.job.host ?
		    buf_add(&all, fence->data, fence->n) :
		    pmix_kvs_get(&server.kvs, fence->round, h, &all);
	pthread_mutex_lock(&server.lock);
	server.round++;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
	n = all.len;
	data = buf_detach(&all);
	fence->done(ret || (n && !data) ? PMIX_ERROR : PMIX_SUCCESS, data,
	    ret || !data ? 0 : n, fence->user, free, data);
	free(fence->data);
	free(fence);
	return NULL;
}

/* Of all ranks: each by itself, or the one that stands for all. */
static bool
is_whole(const pmix_proc_t who[], size_t count)
{
	return count == (size_t)server.world ||
	    (count == 1 && who[0].rank == PMIX_RANK_WILDCARD);
}

static pmix_status_t
fenced(const pmix_proc_t who[], size_t count, const pmix_info_t info[],
    size_t infos, char *data, size_t n, pmix_modex_cbfunc_t done, void *user)
{
	struct fence	*fence;
	pthread_t	 thread;
	int		 failed;

	(void)info, (void)infos;
	if (!is_whole(who, count))
		return PMIX_ERR_NOT_SUPPORTED;
	fence = malloc(sizeof *fence);
	if (!fence || !(fence->data = malloc(n + 1))) {
		free(fence);
		return PMIX_ERR_NOMEM;
	}
	if (n)
		memcpy(fence->data, data, n);
	fence->n = n;
	fence->done = done;
	fence->user = user;
	fence->round = server.rounds++;
	failed = pthread_create(&thread, NULL, exchange, fence);
	if (failed) {
		free(fence->data);
		free(fence);
		return PMIX_ERR_OUT_OF_RESOURCE;
	}
	pthread_detach(thread);
	return PMIX_SUCCESS;
}

/* Values for libpmix, by hand: its macros would need the library to link. */
static void
set_text(pmix_info_t *info, const char *key, char *text)
{
	snprintf(info->key, sizeof info->key, "%s", key);
	info->value.type = PMIX_STRING;
	info->value.data.string = text;
}

static void
set_number(pmix_info_t *info, const char *key, pmix_data_type_t type,
    uint32_t number)
{
	snprintf(info->key, sizeof info->key, "%s", key);
	info->value.type = type;
	if (type == PMIX_UINT16)
		info->value.data.uint16 = (uint16_t)number;
	else if (type == PMIX_PROC_RANK)
		info->value.data.rank = number;
	else
		info->value.data.uint32 = number;
}

enum { OF_JOB = 9, OF_RANK = 6 };

/* Which ranks are on which host: "host0,host1" (names of our own: what libpmix
 * makes of a number as a name is its secret) and "0,1;2". */
static void
map(struct buf *names, struct buf *ranks, struct buf *here)
{
	long	rank = 0;

	for (size_t h = 0; h < server.job.hosts; h++) {
		buf_addf(names, "%shost%zu", h ? "," : "", h);
		for (long l = 0; l < server.job.count[h]; l++, rank++) {
			buf_addf(ranks, "%s%ld", l ? "," : h ? ";" : "", rank);
			if (h == server.job.host)
				buf_addf(here, "%s%ld", l ? "," : "", rank);
		}
	}
}

/* Tells libpmix of the job. */
static int
describe(struct err *err)
{
	const struct pmix_job	*job = &server.job;
	struct buf		 names = BUF_INIT, ranks = BUF_INIT;
	struct buf		 here = BUF_INIT;
	char			*nodes = NULL, *procs = NULL;
	uint32_t		 world = (uint32_t)server.world, rank = 0;
	pmix_info_t		*info, *of;
	pmix_data_array_t	*array;
	char			(*host)[24];
	pmix_status_t		 status, later = PMIX_SUCCESS;
	int			 ret = 0;

	map(&names, &ranks, &here);
	info = calloc(OF_JOB + world, sizeof *info);
	of = calloc((size_t)OF_RANK * world, sizeof *of);
	array = calloc(world, sizeof *array);
	host = calloc(job->hosts, sizeof *host);
	if (!info || !of || !array || !host || buf_failed(&names) ||
	    buf_failed(&ranks) || buf_failed(&here)) {
		ret = err_nomem(err);
		goto out;
	}
	status = lib.regex(buf_text(&names), &nodes);
	if (status == PMIX_SUCCESS)
		status = lib.ppn(buf_text(&ranks), &procs);
	if (status != PMIX_SUCCESS) {
		ret = bad("a map of ranks", status, err);
		goto out;
	}
	set_number(info + 0, PMIX_UNIV_SIZE, PMIX_UINT32, world);
	set_number(info + 1, PMIX_JOB_SIZE, PMIX_UINT32, world);
	set_number(info + 2, PMIX_MAX_PROCS, PMIX_UINT32, world);
	set_number(info + 3, PMIX_LOCAL_SIZE, PMIX_UINT32,
	    (uint32_t)job->count[job->host]);
	set_number(info + 4, PMIX_NUM_NODES, PMIX_UINT32, (uint32_t)job->hosts);
	set_text(info + 5, PMIX_LOCAL_PEERS, here.data);
	set_text(info + 6, PMIX_NODE_MAP, nodes);
	set_text(info + 7, PMIX_PROC_MAP, procs);
	set_text(info + 8, PMIX_JOBID, (char *)job->name);
	for (size_t h = 0; h < job->hosts; h++) {
		snprintf(host[h], sizeof host[h], "host%zu", h);
		for (uint32_t l = 0; l < job->count[h]; l++, rank++) {
			pmix_info_t *one = of + (size_t)OF_RANK * rank;

			set_number(one + 0, PMIX_RANK, PMIX_PROC_RANK, rank);
			set_number(one + 1, PMIX_GLOBAL_RANK, PMIX_PROC_RANK,
			    rank);
			set_number(one + 2, PMIX_LOCAL_RANK, PMIX_UINT16, l);
			set_number(one + 3, PMIX_NODE_RANK, PMIX_UINT16, l);
			set_number(one + 4, PMIX_NODEID, PMIX_UINT32,
			    (uint32_t)h);
			set_text(one + 5, PMIX_HOSTNAME, host[h]);
			array[rank] = (pmix_data_array_t){
				PMIX_INFO, OF_RANK, one };
			snprintf(info[OF_JOB + rank].key,
			    sizeof info->key, "%s", PMIX_PROC_DATA);
			info[OF_JOB + rank].value.type = PMIX_DATA_ARRAY;
			info[OF_JOB + rank].value.data.darray = array + rank;
		}
	}
	status = wait_answer(lib.nspace(job->name, (int)job->count[job->host],
	    info, OF_JOB + world, answered, &later), &later);
	if (status != PMIX_SUCCESS)
		ret = bad("the job", status, err);
out:
	free(info), free(of), free(array), free(host);
	free(nodes), free(procs);
	buf_clear(&names), buf_clear(&ranks), buf_clear(&here);
	return ret;
}

int
pmix_server_start(const struct pmix_job *job, struct err *err)
{
	static pmix_server_module_t	 module = {
		.client_connected = came_or_went,
		.client_finalized = came_or_went,
		.abort = aborted, .fence_nb = fenced,
	};
	char				 host[24];
	char				 folder[] = "/tmp/accel-pmix-XXXXXX";
	pmix_info_t			 info[3] = { 0 };
	pmix_status_t			 status;

	server.job = *job;
	server.kvs.fd = job->pmi_fd;
	for (size_t h = 0; h < job->hosts; h++) {
		if (h == job->host)
			server.first = server.world;
		server.world += job->count[h];
	}
	if (load(err) < 0)
		return -1;
	if (!mkdtemp(folder))
		return err_set(err, "/tmp: no folder can be made there");
	/* Its shared memory would stay behind where ranks are killed. */
	setenv("PMIX_MCA_gds", "hash", 1);
	snprintf(host, sizeof host, "host%zu", job->host);
	set_text(info + 0, PMIX_SERVER_TMPDIR, folder);
	set_text(info + 1, PMIX_SYSTEM_TMPDIR, folder);
	set_text(info + 2, PMIX_HOSTNAME, host);
	status = lib.init(&module, info, 3);
	/* It is for tools, which are not served, and would stay behind where
	 * the server is killed. */
	rmdir(folder);
	if (status != PMIX_SUCCESS)
		return bad("its server", status, err);
	return describe(err);
}

int
pmix_server_env(long local_rank, struct strv *env, struct err *err)
{
	pmix_proc_t	 who = {
		.rank = (pmix_rank_t)(server.first + local_rank)
	};
	pmix_status_t	 status, later = PMIX_SUCCESS;
	char		**more = calloc(1, sizeof *more);
	int		 ret = 0;

	if (!more)
		return err_nomem(err);
	snprintf(who.nspace, sizeof who.nspace, "%s", server.job.name);
	status = wait_answer(lib.client(&who, getuid(), getgid(), NULL,
	    answered, &later), &later);
	if (status == PMIX_SUCCESS)
		status = lib.fork(&who, &more);
	if (status != PMIX_SUCCESS)
		ret = bad("a rank", status, err);
	for (char **item = more; ret == 0 && *item; item++)
		if (strv_add(env, *item) < 0)
			ret = err_nomem(err);
	for (char **item = more; *item; item++)
		free(*item);
	free(more);
	return ret;
}

void
pmix_server_stop(void)
{
	if (lib.finalize)
		lib.finalize();
}
