/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/ssh_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"

#include "runtime/base/banned.h"

enum { DEPTH = 16 };		/* of Include, as OpenSSH has it */

extern char **environ;

/* Words that change which host is reached, or who it must be, and that neither
 * libssh nor we obey.  Others change nothing for a launch. */
static const char *const unheard[] = {
	"bindaddress", "bindinterface", "canonicalizehostname",
	"canonicaldomains", "enablesshkeysign", "hostbasedauthentication",
	"knownhostscommand", "pkcs11provider", "revokedhostkeys",
	"securitykeyprovider", "stricthostkeychecking", "tag",
	"verifyhostkeydns",
};

/* Words that libssh obeys when it gets their values. */
static const char *const given_on[] = {
	"ciphers", "compression", "globalknownhostsfile", "hostkeyalgorithms",
	"kexalgorithms", "macs", "pubkeyacceptedalgorithms",
	"pubkeyacceptedkeytypes", "userknownhostsfile",
};

/* A file that is being read. */
struct reading {
	struct ssh_conf	*conf;
	const char	*path;
	int		 line, depth;
	bool		 on;		/* the Host or Match that we are in */
	bool		 system;	/* where a relative Include is */
};

/* The next word of a line, out of quotes; "" at its end. */
static void
next_word(const char **at, char *out, size_t room)
{
	const char	*p = *at + strspn(*at, " \t\r=");
	char		 quote = *p == '"' ? *p++ : '\0';
	size_t		 n = 0;

	for (; *p && (quote ? *p != quote : !strchr(" \t\r", *p)); p++)
		if (n + 1 < room)
			out[n++] = *p;
	out[n] = '\0';
	*at = p + (quote && *p);
}

static const char *
local_user(void)
{
	struct passwd *pw = getpwuid(getuid());

	return pw ? pw->pw_name : "";
}

const char *
ssh_conf_user(const struct ssh_conf *conf)
{
	return conf->user ? conf->user : conf->said_user ? conf->said_user :
	    local_user();
}

char *
ssh_conf_expand(const struct ssh_conf *conf, const char *text)
{
	struct buf	 out = BUF_INIT;
	char		 name[256] = "";
	const char	*host = conf->host_name ? conf->host_name : conf->given;

	if (text[0] == '~' && (text[1] == '/' || !text[1])) {
		buf_adds(&out, file_home());
		text++;
	}
	for (; *text; text++) {
		if (*text != '%' || !text[1]) {
			buf_add(&out, text, 1);
			continue;
		}
		switch (*++text) {
		case '%': buf_adds(&out, "%"); break;
		case 'd': buf_adds(&out, file_home()); break;
		case 'h': buf_adds(&out, host); break;
		case 'k': buf_adds(&out, conf->alias ? conf->alias :
		    conf->given); break;
		case 'n': buf_adds(&out, conf->given); break;
		case 'p': buf_adds(&out, conf->port ? conf->port : "22"); break;
		case 'r': buf_adds(&out, ssh_conf_user(conf)); break;
		case 'u': buf_adds(&out, local_user()); break;
		case 'i': buf_addf(&out, "%ld", (long)getuid()); break;
		case 'l':
		case 'L':
			gethostname(name, sizeof name - 1);
			if (*text == 'L')
				name[strcspn(name, ".")] = '\0';
			buf_adds(&out, name);
			break;
		default:	/* not ours to guess */
			buf_add(&out, text - 1, 2);
		}
	}
	if (buf_failed(&out) || (!out.len && buf_adds(&out, "") < 0)) {
		buf_clear(&out);
		return NULL;
	}
	return out.data ? buf_detach(&out) : strdup("");
}

/* One list of patterns, "a*,!ab": true where one fits and none forbids. */
static bool
fits(const char *patterns, const char *text)
{
	char	one[300];
	bool	yes = false;

	while (*patterns) {
		size_t	n = strcspn(patterns, ",");
		bool	not = *patterns == '!';

		snprintf(one, sizeof one, "%.*s", (int)n - not, patterns + not);
		if (fnmatch(one, text, FNM_CASEFOLD) == 0) {
			if (not)
				return false;
			yes = true;
		}
		patterns += n + (patterns[n] == ',');
	}
	return yes;
}

/* Host a b* !c */
static bool
host_fits(const char *rest, const char *host)
{
	char	word[300];
	bool	yes = false;

	for (next_word(&rest, word, sizeof word); *word;
	    next_word(&rest, word, sizeof word)) {
		if (word[0] == '!') {
			if (fits(word + 1, host))
				return false;
		} else
			yes = yes || fits(word, host);
	}
	return yes;
}

static bool
run_command(const struct ssh_conf *conf, const char *command)
{
	char	*text = ssh_conf_expand(conf, command);
	char	*argv[] = { "sh", "-c", text, NULL };
	posix_spawn_file_actions_t io;
	pid_t	 pid;
	int	 status = 1;

	if (!text)
		return false;
	posix_spawn_file_actions_init(&io);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&io, fd, "/dev/null", 2, 0);
	if (posix_spawn(&pid, "/bin/sh", &io, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid)
		status = 1;
	posix_spawn_file_actions_destroy(&io);
	free(text);
	return status == 0;
}

/* Match host a user b exec "..." */
static bool
match_fits(const struct ssh_conf *conf, const char *rest)
{
	char	word[300], value[1000];
	bool	yes = true;

	for (next_word(&rest, word, sizeof word); *word && yes;
	    next_word(&rest, word, sizeof word)) {
		const char	*name = word + (*word == '!');
		bool		 one;

		if (!strcasecmp(name, "all")) {
			one = true;
		} else if (!strcasecmp(name, "canonical") ||
		    !strcasecmp(name, "final")) {
			one = false;	/* there is no second reading */
		} else {
			next_word(&rest, value, sizeof value);
			if (!strcasecmp(name, "host"))
				one = fits(value, conf->host_name ?
				    conf->host_name : conf->given);
			else if (!strcasecmp(name, "originalhost"))
				one = fits(value, conf->given);
			else if (!strcasecmp(name, "user"))
				one = fits(value, ssh_conf_user(conf));
			else if (!strcasecmp(name, "localuser"))
				one = fits(value, local_user());
			else if (!strcasecmp(name, "exec"))
				one = run_command(conf, value);
			else
				return false;
		}
		yes = one != (*word == '!');
	}
	return yes;
}

/* The first value of a word counts. */
static bool
first(struct ssh_conf *conf, const char *word)
{
	for (size_t i = 0; i < conf->seen.count; i++)
		if (!strcmp(conf->seen.item[i], word))
			return false;
	return strv_add(&conf->seen, word) == 0;
}

static int read_one(struct reading *from, struct err *err);

static int
include(struct reading *from, const char *rest, struct err *err)
{
	char	word[1000], pattern[2048];
	int	ret = 0;

	for (next_word(&rest, word, sizeof word); *word && !ret;
	    next_word(&rest, word, sizeof word)) {
		glob_t	found;
		char	*full = ssh_conf_expand(from->conf, word);

		if (!full)
			return err_nomem(err);
		if (*full == '/')
			snprintf(pattern, sizeof pattern, "%s", full);
		else if (from->system)
			snprintf(pattern, sizeof pattern, "/etc/ssh/%s", full);
		else
			snprintf(pattern, sizeof pattern, "%s/.ssh/%s",
			    file_home(), full);
		free(full);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; i < found.gl_pathc && !ret; i++) {
			struct reading in = { from->conf, found.gl_pathv[i], 0,
				from->depth + 1, true, from->system };

			if (in.depth > DEPTH)
				ret = err_set(err, "%s:%d: files include each "
				    "other", from->path, from->line);
			else
				ret = read_one(&in, err);
		}
		globfree(&found);
	}
	return ret;
}

static int
set(struct reading *from, const char *word, const char *rest)
{
	struct ssh_conf	*conf = from->conf;
	const struct { const char *word; char **to; } texts[] = {
		{ "hostname", &conf->host_name }, { "user", &conf->said_user },
		{ "port", &conf->port }, { "hostkeyalias", &conf->alias },
		{ "addressfamily", &conf->family },
		{ "identityagent", &conf->agent },
	};
	char		value[2000];
	const char	*all = rest + strspn(rest, " \t=");

	next_word(&rest, value, sizeof value);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(word, texts[i].word)) {
			if (!first(conf, word))
				return 0;
			*texts[i].to = !strcmp(word, "hostname") ?
			    ssh_conf_expand(conf, value) : strdup(value);
			return *texts[i].to ? 0 : -1;
		}
	if (!strcmp(word, "proxyjump") || !strcmp(word, "proxycommand")) {
		char **to = word[5] == 'j' ? &conf->jump : &conf->proxy;

		/* Whichever comes first. */
		if (!first(conf, "proxy") || !strcasecmp(value, "none"))
			return 0;
		*to = word[5] == 'j' ? strdup(value) : strdup(all);
		return *to ? 0 : -1;
	}
	for (size_t i = 0; i < sizeof given_on / sizeof *given_on; i++)
		if (!strcmp(word, given_on[i])) {
			char	*full;
			int	 ret;

			if (!first(conf, word))
				return 0;
			full = ssh_conf_expand(conf, value);
			ret = full ? strv_setenv(&conf->given_on, word, full) :
			    -1;
			free(full);
			return ret;
		}
	if (!strcmp(word, "identitiesonly")) {
		if (first(conf, word))
			conf->only = !strcasecmp(value, "yes");
	} else if (!strcmp(word, "identityfile")) {
		return strv_add(&conf->identities, value);
	} else if (!strcmp(word, "certificatefile")) {
		return strv_add(&conf->certificates, value);
	}
	for (size_t i = 0; i < sizeof unheard / sizeof *unheard; i++)
		if (!strcmp(word, unheard[i]) && strcasecmp(value, "no") &&
		    /* We never take an unknown key: "ask" and "yes" are that. */
		    (strcmp(word, "stricthostkeychecking") ||
		    (strcasecmp(value, "ask") && strcasecmp(value, "yes"))))
			return strv_addf(&conf->ignored, "%s:%d: %s %s",
			    from->path, from->line, word, value);
	if (!strcmp(word, "stricthostkeychecking") && !strcasecmp(value, "no"))
		return strv_addf(&conf->ignored, "%s:%d: %s no", from->path,
		    from->line, word);
	return 0;
}

static int
read_line(struct reading *from, const char *line, struct err *err)
{
	char word[100];

	line += strspn(line, " \t\r");
	if (!*line || *line == '#')
		return 0;
	/* A keyword may be parted from its value by "=" alone. */
	snprintf(word, sizeof word, "%.*s", (int)strcspn(line, " \t\r="), line);
	line += strcspn(line, " \t\r=");
	for (char *c = word; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!strcmp(word, "host"))
		from->on = host_fits(line, from->conf->given);
	else if (!strcmp(word, "match"))
		from->on = match_fits(from->conf, line);
	else if (from->on && !strcmp(word, "include"))
		return include(from, line, err);
	else if (from->on && set(from, word, line) < 0)
		return err_nomem(err);
	return 0;
}

static int
read_one(struct reading *from, struct err *err)
{
	FILE	*file = fopen(from->path, "re");
	char	*line = NULL;
	size_t	 room = 0;
	ssize_t	 n;
	int	 ret = 0;

	if (!file)
		return 0;
	while (!ret && (n = getline(&line, &room, file)) >= 0) {
		from->line++;
		while (n > 0 && strchr("\r\n", line[n - 1]))
			line[--n] = '\0';
		ret = read_line(from, line, err);
	}
	free(line);
	fclose(file);
	return ret;
}

int
ssh_conf_read(struct ssh_conf *conf, const char *file, struct err *err)
{
	char		path[2048];
	struct reading	from = { conf, path, 0, 0, true, false };

	if (file) {
		from.path = file;
		if (access(file, R_OK) < 0)
			return err_set(err, "cannot read %s: %s", file,
			    strerror(errno));
		return read_one(&from, err);
	}
	snprintf(path, sizeof path, "%s/.ssh/config", file_home());
	if (read_one(&from, err) < 0)
		return -1;
	from = (struct reading){ conf, "/etc/ssh/ssh_config", 0, 0, true, true };
	return read_one(&from, err);
}

void
ssh_conf_clear(struct ssh_conf *conf)
{
	free(conf->host_name), free(conf->said_user), free(conf->port);
	free(conf->alias), free(conf->jump), free(conf->proxy);
	free(conf->family), free(conf->agent);
	strv_clear(&conf->identities);
	strv_clear(&conf->certificates);
	strv_clear(&conf->given_on);
	strv_clear(&conf->ignored);
	strv_clear(&conf->seen);
	*conf = (struct ssh_conf){ 0 };
}
