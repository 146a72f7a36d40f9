/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlflow: the tracker "mlflow", a plugin that links libcurl.
 *
 * A thread of its own sends what training says, in batches, so that a slow
 * server costs training nothing: what it cannot take in time is dropped once
 * QUEUE events wait.  REST as MLflow 2 and 3 have it, below /api/2.0/mlflow:
 * experiments/get-by-name and create, runs/create, runs/log-batch,
 * runs/update.
 *
 * Where: http://HOST:PORT/EXPERIMENT; missing parts come from
 * MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME (else "Default").
 * MLFLOW_RUN_ID goes on with a run; MLFLOW_RUN_NAME names a new one.
 * MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and _PASSWORD, prove who
 * we are.
 */
#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/thread.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

/* MLflow's own limits of a batch, and how long one request may take. */
enum { METRICS = 1000, PARAMS = 100, QUEUE = 100000 };
enum { ANSWER_MAX = 1 << 20, CONNECT_S = 10, REQUEST_S = 30, END_S = 60 };

extern const struct tracker_ops tracker_plugin;

struct mlflow {
	const struct tracker_ops *ops;	/* first: see tracker_mlflow.c */
	CURL		*curl;		/* the thread's */
	char		*server, *experiment, *run;
	pthread_t	 thread;

	pthread_mutex_t	 lock;		/* of what follows */
	pthread_cond_t	 more;
	json_t		*metrics, *params;	/* waiting */
	size_t		 dropped;
	bool		 over, failed;
	struct err	 err;
};

/* ---- requests ------------------------------------------------------------ */

static size_t
keep_answer(char *data, size_t one, size_t n, void *user)
{
	return buf_add(user, data, one * n) == 0 ? one * n : 0;
}

static const char *
env(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* Who we are, as the client of MLflow says it. */
static struct curl_slist *
headers(CURL *curl)
{
	struct curl_slist *list = curl_slist_append(NULL,
	    "Content-Type: application/json");
	const char *token = env("MLFLOW_TRACKING_TOKEN");
	const char *user = env("MLFLOW_TRACKING_USERNAME");
	const char *password = env("MLFLOW_TRACKING_PASSWORD");
	char *line;

	if (user != NULL) {
		curl_easy_setopt(curl, CURLOPT_USERNAME, user);
		if (password != NULL)
			curl_easy_setopt(curl, CURLOPT_PASSWORD, password);
	} else if (token != NULL &&
	    asprintf(&line, "Authorization: Bearer %s", token) >= 0) {
		list = curl_slist_append(list, line);
		free(line);
	}
	return list;
}

/* What the server says is wrong, as short as can be. */
static int
refused(const char *url, long code, const struct buf *text, struct err *err)
{
	json_t *body = json_loadb(buf_text(text), text->len, 0, NULL);
	const char *why = json_string_value(json_object_get(body, "message"));

	err_set(err, "%.120s: %ld%s%.200s", url, code, why ? ": " : "",
	    why ? why : "");
	json_decref(body);
	return -1;
}

/* Takes "body" (NULL: a GET).  The answer, to be released, or NULL; 404 is an
 * answer too where "missing" is not NULL. */
static json_t *
request(struct mlflow *m, const char *path, json_t *body, bool *missing,
    struct err *err)
{
	struct buf answer = { .max = ANSWER_MAX };
	char *url = NULL, *text = NULL, why[CURL_ERROR_SIZE] = "";
	struct curl_slist *list;
	json_t *got = NULL;
	long code = 0;
	CURLcode rc;

	text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if ((body != NULL && text == NULL) || asprintf(&url,
	    "%s/api/2.0/mlflow/%s", m->server, path) < 0) {
		free(text);
		err_nomem(err);
		return NULL;
	}
	curl_easy_reset(m->curl);
	list = headers(m->curl);
	curl_easy_setopt(m->curl, CURLOPT_URL, url);
	curl_easy_setopt(m->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(m->curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(m->curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(m->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(m->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(m->curl, CURLOPT_TIMEOUT, (long)REQUEST_S);
	curl_easy_setopt(m->curl, CURLOPT_WRITEFUNCTION, keep_answer);
	curl_easy_setopt(m->curl, CURLOPT_WRITEDATA, &answer);
	if (text != NULL)
		curl_easy_setopt(m->curl, CURLOPT_POSTFIELDS, text);
	rc = curl_easy_perform(m->curl);
	curl_easy_getinfo(m->curl, CURLINFO_RESPONSE_CODE, &code);
	if (missing != NULL)
		*missing = rc == CURLE_OK && code == 404;
	if (rc != CURLE_OK)
		err_set(err, "%.120s: %s", url, why[0] ? why :
		    curl_easy_strerror(rc));
	else if (code != 200)
		refused(url, code, &answer, err);
	else if ((got = json_loadb(buf_text(&answer), answer.len, 0,
	    NULL)) == NULL)
		err_set(err, "%.120s: the answer is no JSON", url);
	curl_slist_free_all(list);
	buf_clear(&answer);
	free(url);
	free(text);
	return got;
}

/* A text member below "object", copied. */
static char *
member(json_t *answer, const char *object, const char *name, struct err *err)
{
	json_t *o = object != NULL ? json_object_get(answer, object) : answer;
	const char *text = json_string_value(json_object_get(o, name));

	if (text == NULL) {
		err_set(err, "the server's answer has no %s", name);
		err_hint(err, "is it an MLflow server?");
		return NULL;
	}
	return strdup(text);
}

static char *
experiment_id(struct mlflow *m, struct err *err)
{
	char *escaped = curl_easy_escape(m->curl, m->experiment, 0);
	char *path = NULL, *id = NULL;
	bool missing = false;
	json_t *got = NULL;

	if (escaped == NULL || asprintf(&path,
	    "experiments/get-by-name?experiment_name=%s", escaped) < 0) {
		path = NULL;
		err_nomem(err);
	} else {
		got = request(m, path, NULL, &missing, err);
		if (got != NULL)
			id = member(got, "experiment", "experiment_id", err);
	}
	if (missing) {
		got = request(m, "experiments/create", json_pack("{s:s}",
		    "name", m->experiment), NULL, err);
		if (got != NULL)
			id = member(got, NULL, "experiment_id", err);
	}
	json_decref(got);
	curl_free(escaped);
	free(path);
	return id;
}

static json_int_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (json_int_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int
begin_run(struct mlflow *m, struct err *err)
{
	const char *name = env("MLFLOW_RUN_NAME");
	json_t *body, *got, *info = NULL;
	char *id;

	if (m->run != NULL)
		return 0;
	id = experiment_id(m, err);
	if (id == NULL)
		return -1;
	body = json_pack("{s:s, s:I, s:[{s:s, s:s}]}", "experiment_id", id,
	    "start_time", now_ms(), "tags", "key", "mlflow.source.name",
	    "value", "libaccel");
	if (name != NULL)
		json_object_set_new(body, "run_name", json_string(name));
	free(id);
	got = request(m, "runs/create", body, NULL, err);
	if (got == NULL)
		return -1;
	info = json_object_get(got, "run");
	m->run = member(info, "info", "run_id", err);
	json_decref(got);
	return m->run != NULL ? 0 : -1;
}

/* Moves at most n items to the front of a new array. */
static json_t *
take(json_t **from, size_t n)
{
	json_t *out = json_array(), *rest = json_array();
	size_t i;
	json_t *item;

	json_array_foreach(*from, i, item)
		json_array_append(i < n ? out : rest, item);
	json_decref(*from);
	*from = rest;
	return out;
}

static int
end_run(struct mlflow *m, struct err *err)
{
	json_t *got = request(m, "runs/update", json_pack("{s:s, s:s, s:I}",
	    "run_id", m->run, "status", "FINISHED", "end_time", now_ms()),
	    NULL, err);

	json_decref(got);
	return got != NULL ? 0 : -1;
}

/* ---- the thread ---------------------------------------------------------- */

/* Sends until nothing waits and no more comes. */
static int
send_all(struct mlflow *m, struct err *err)
{
	int ret = begin_run(m, err);
	bool over = false;

	while (ret == 0 && !over) {
		json_t *metrics = NULL, *params = NULL, *got;

		pthread_mutex_lock(&m->lock);
		while (!m->over && json_array_size(m->metrics) == 0 &&
		    json_array_size(m->params) == 0)
			pthread_cond_wait(&m->more, &m->lock);
		metrics = take(&m->metrics, METRICS);
		params = take(&m->params, PARAMS);
		over = m->over && json_array_size(metrics) == 0 &&
		    json_array_size(params) == 0;
		pthread_mutex_unlock(&m->lock);
		if (over) {
			json_decref(metrics);
			json_decref(params);
			break;
		}
		got = request(m, "runs/log-batch", json_pack(
		    "{s:s, s:o, s:o}", "run_id", m->run, "metrics", metrics,
		    "params", params), NULL, err);
		json_decref(got);
		ret = got != NULL ? 0 : -1;
	}
	return ret == 0 ? end_run(m, err) : -1;
}

static void *
work(void *user)
{
	struct mlflow *m = user;
	struct err err = ERR_INIT;
	int ret = send_all(m, &err);

	pthread_mutex_lock(&m->lock);
	m->failed = ret != 0;
	m->err = err;
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* ---- the tracker --------------------------------------------------------- */

static void
mlflow_free(struct mlflow *m)
{
	if (m->curl != NULL)
		curl_easy_cleanup(m->curl);
	json_decref(m->metrics);
	json_decref(m->params);
	free(m->server);
	free(m->experiment);
	free(m->run);
	free(m);
}

/* Cuts "http://host:port/experiment" in two. */
static int
read_where(struct mlflow *m, const char *where, struct err *err)
{
	const char *uri = *where != '\0' ? where : env("MLFLOW_TRACKING_URI");
	const char *name = env("MLFLOW_EXPERIMENT_NAME"), *host, *slash = NULL;

	if (uri == NULL || (strncmp(uri, "http://", 7) != 0 &&
	    strncmp(uri, "https://", 8) != 0)) {
		err_set(err, "\"%.100s\" is no address of a server",
		    uri != NULL ? uri : "");
		return err_hint(err, "such as http://localhost:5000/NAME, or "
		    "set MLFLOW_TRACKING_URI");
	}
	host = strstr(uri, "://") + 3;
	/* The environment's address may have a path; ours ends in the name. */
	if (*where != '\0')
		slash = strchr(host, '/');
	if (slash != NULL && slash[1] != '\0')
		name = slash + 1;
	m->server = strndup(uri, slash != NULL ? (size_t)(slash - uri) :
	    strlen(uri));
	m->experiment = strdup(name != NULL ? name : "Default");
	if (env("MLFLOW_RUN_ID") != NULL)
		m->run = strdup(env("MLFLOW_RUN_ID"));
	return m->server != NULL && m->experiment != NULL ? 0 :
	    err_nomem(err);
}

static int
mlflow_open(void **state, const char *where, int rank, struct err *err)
{
	struct mlflow *m = calloc(1, sizeof(*m));
	int code;

	(void)rank;
	if (m == NULL)
		return err_nomem(err);
	m->ops = &tracker_plugin;
	m->metrics = json_array();
	m->params = json_array();
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->more, NULL);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	m->curl = curl_easy_init();
	if (m->curl == NULL || m->metrics == NULL || m->params == NULL) {
		err_nomem(err);
	} else if (read_where(m, where, err) == 0) {
		code = thread_start(&m->thread, work, m);
		if (code == 0) {
			*state = m;
			return 0;
		}
		err_set(err, "no thread: %s", strerror(code));
	}
	mlflow_free(m);
	return -1;
}

static json_t *
metric(const struct track_event *e)
{
	double value = e->value;

	/* The server takes no NaN; its own client sends these as texts. */
	if (isnan(value) || isinf(value))
		return json_pack("{s:s, s:s, s:I, s:I}", "key", e->key,
		    "value", isnan(value) ? "NaN" : value > 0 ? "Infinity" :
		    "-Infinity", "timestamp", (json_int_t)(e->time * 1000),
		    "step", (json_int_t)e->step);
	return json_pack("{s:s, s:f, s:I, s:I}", "key", e->key, "value",
	    value, "timestamp", (json_int_t)(e->time * 1000), "step",
	    (json_int_t)e->step);
}

static int
mlflow_event(void *state, const struct track_event *e, struct err *err)
{
	struct mlflow *m = state;
	json_t *item;
	int ret = 0;

	if (e->kind != TRACK_LOG && e->kind != TRACK_CONFIG)
		return 0;
	item = e->kind == TRACK_LOG ? metric(e) : json_pack("{s:s, s:s}",
	    "key", e->key, "value", e->text);
	if (item == NULL)
		return err_set(err, "%s is not UTF-8", e->key);
	pthread_mutex_lock(&m->lock);
	if (m->failed) {
		ret = -1;
		if (err != NULL)
			*err = m->err;
		json_decref(item);
	} else if (json_array_size(m->metrics) >= QUEUE) {
		m->dropped++;
		json_decref(item);
	} else {
		json_array_append_new(e->kind == TRACK_LOG ? m->metrics :
		    m->params, item);
		pthread_cond_signal(&m->more);
	}
	pthread_mutex_unlock(&m->lock);
	return ret;
}

static int
mlflow_close(void *state, struct err *err)
{
	struct mlflow *m = state;
	struct timespec until;
	int ret = 0;

	pthread_mutex_lock(&m->lock);
	m->over = true;
	pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	if (pthread_timedjoin_np(m->thread, NULL, &until) != 0) {
		/* It still reads *m: that stays. */
		err_set(err, "%s has not taken all after %d s", m->server,
		    END_S);
		pthread_detach(m->thread);
		return -1;
	}
	if (m->failed && err != NULL) {
		*err = m->err;
		ret = -1;
	} else if (m->dropped > 0) {
		ret = err_set(err, "%zu numbers were dropped: the server is "
		    "slower than training", m->dropped);
	}
	mlflow_free(m);
	return ret;
}

const struct tracker_ops tracker_plugin = {
	"mlflow", mlflow_open, mlflow_event, mlflow_close,
};
