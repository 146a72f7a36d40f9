/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/record.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/launch/clean.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/records.h"

#include "runtime/base/banned.h"

void
record_id(char id[RECORD_ID], const char *job)
{
	time_t		now = time(NULL);
	struct tm	tm;
	char		stamp[20] = "";

	if (localtime_r(&now, &tm))
		strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
	snprintf(id, RECORD_ID, "%s-%.4s", stamp, job);
}

char *
record_folder(void)
{
	const char	*state = getenv("XDG_STATE_HOME");
	char		*path;

	/* One that is not absolute does not count: so says the standard. */
	if (state && *state == '/' ?
	    asprintf(&path, "%s/accel/runs", state) < 0 :
	    asprintf(&path, "%s/.local/state/accel/runs", file_home()) < 0)
		return NULL;
	return path;
}

char *
record_path(const char *id)
{
	char *folder = record_folder(), *path = NULL;

	if (folder && asprintf(&path, "%s/%s.json", folder, id) < 0)
		path = NULL;
	free(folder);
	return path;
}

/* Any bytes as JSON's text. */
static json_t *
text_of(const char *text)
{
	struct buf	 buf = BUF_INIT;
	json_t		*json;

	clean_json(&buf, text, strlen(text));
	json = json_loads(buf_text(&buf), JSON_DECODE_ANY | JSON_ALLOW_NUL,
	    NULL);
	buf_clear(&buf);
	return json;
}

/* Is it one of the words that "name", with "-" and "_" between its own, has? */
static bool
sounds_secret(const char *name, size_t n)
{
	static const char *const words[] = { "token", "secret", "secrets",
		"password", "passwd", "passphrase", "credential",
		"credentials", "apikey", "key" };

	for (size_t at = 0; at < n;) {
		size_t len = 0;

		while (at + len < n && name[at + len] != '-' &&
		    name[at + len] != '_')
			len++;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strlen(words[i]) == len &&
			    !strncasecmp(name + at, words[i], len))
				return true;
		at += len + 1;
	}
	return false;
}

/* The program's words; of what sounds like a secret, the name alone. */
static json_t *
words_of(char *const *argv)
{
	json_t	*list = json_array();
	bool	 hide = false;

	for (; *argv; argv++) {
		const char	*word = *argv, *equals = strchr(word, '=');
		struct buf	 shown = BUF_INIT;

		if (hide && *word != '-')
			buf_adds(&shown, "(secret)");
		else if (equals && sounds_secret(word, (size_t)(equals - word)))
			buf_addf(&shown, "%.*s=(secret)", (int)(equals - word),
			    word);
		else if (!strncmp(word, "hf_", 3) && strlen(word) > 20)
			buf_adds(&shown, "(secret)");
		else
			buf_adds(&shown, word);
		hide = *word == '-' && !equals &&
		    sounds_secret(word, strlen(word));
		json_array_append_new(list, text_of(buf_text(&shown)));
		buf_clear(&shown);
	}
	return list;
}

static json_t *
hosts_of(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->hosts.count; i++)
		json_array_append_new(list, json_pack("{so sI}", "name",
		    text_of(plan->hosts.host[i].name), "ranks",
		    (json_int_t)plan->hosts.host[i].slots));
	return list;
}

static json_t *
time_of(int64_t wall_ms)
{
	char text[CLOCK_TEXT];

	clock_text(wall_ms, text);
	return json_string(text);
}

static int
save(struct record *r, struct err *err)
{
	char	*text = json_dumps(r->json, JSON_INDENT(2));
	size_t	 n = text ? strlen(text) : 0;
	int	 ret;

	if (!text)
		return err_nomem(err);
	text[n] = '\n';		/* in place of NUL: the size is given */
	ret = file_note(r->path, text, n + 1, 0600, err);
	free(text);
	return ret;
}

int
record_begin(struct record *r, const char *id,
    const struct record_facts *facts, struct err *err)
{
	struct record	 new = { .began = clock_wall_ms() };
	char		*folder = record_folder(), here[256] = "";

	*r = (struct record)RECORD_INIT;
	new.path = record_path(id);
	if (!folder || !new.path) {
		free(folder);
		free(new.path);
		return err_nomem(err);
	}
	gethostname(here, sizeof here - 1);
	new.json = json_pack("{ss so ss so ss so? sI so so so? so sI sI}",
	    "id", id, "launcher", text_of(here), "command", facts->command,
	    "program", words_of(facts->argv), "state", "running",
	    "config_file", facts->config_file ? text_of(facts->config_file) :
	    NULL, "ranks", (json_int_t)facts->plan->world,
	    "hosts", hosts_of(facts->plan), "role", text_of(facts->plan->role),
	    "logs", facts->logs ? text_of(facts->logs) : NULL,
	    "started", time_of(new.began),
	    "pid", (json_int_t)getpid(),
	    "pid_born", (json_int_t)process_born(getpid()));
	if (new.json)
		json_object_set_new(new.json, "folder",
		    text_of(facts->plan->folder));
	if (!new.json)
		err_nomem(err);
	else if ((access(folder, F_OK) == 0 ||
	    file_mkdirs(folder, 0700, err) == 0) && save(&new, err) == 0) {
		records_prune(folder);
		*r = new;
		free(folder);
		return 0;
	}
	free(folder);
	record_clear(&new);
	return -1;
}

int
record_again(struct record *r, const struct plan *plan, struct err *err)
{
	json_int_t n;

	if (!r->json)
		return 0;
	n = json_integer_value(json_object_get(r->json, "restarts"));
	json_object_set_new(r->json, "restarts", json_integer(n + 1));
	json_object_set_new(r->json, "ranks",
	    json_integer((json_int_t)plan->world));
	json_object_set_new(r->json, "hosts", hosts_of(plan));
	return save(r, err);
}

int
record_end(struct record *r, int code, const char *why, struct err *err)
{
	int64_t now = clock_wall_ms();

	if (!r->json)
		return 0;
	json_object_set_new(r->json, "state", json_string("ended"));
	json_object_set_new(r->json, "exit_code", json_integer(code));
	json_object_set_new(r->json, "ended", time_of(now));
	json_object_set_new(r->json, "seconds",
	    json_real((double)(now - r->began) / 1000));
	if (*why)
		json_object_set_new(r->json, "why", text_of(why));
	return save(r, err);
}

void
record_clear(struct record *r)
{
	free(r->path);
	json_decref(r->json);
	*r = (struct record)RECORD_INIT;
}
