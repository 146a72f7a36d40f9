/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

/* 1 with *out set, 0 where there is no such file, -1 where it does not load. */
static int
load(const char *folder, int n, const char *below, const char *name, int mode,
    void **out, struct err *err)
{
	char		 path[1200];
	const char	*why;
	int		 len = snprintf(path, sizeof path,
	    "%.*s%s/libaccel-%s.so", n, folder, below, name);

	if (len < 0 || (size_t)len >= sizeof path || access(path, R_OK) != 0)
		return 0;
	if ((*out = dlopen(path, mode)))
		return 1;
	why = dlerror();
	return err_set(err, "%s does not load: %s", path, why ? why : "?");
}

void *
plugin_symbol(const char *name, const char *symbol, const char *folder, int n,
    int all, struct err *err)
{
	static const char *const	 below[] = { "", "/accel", "/.libs",
	    "/../lib/accel" };
	const char			*dir = getenv("ACCEL_PLUGIN_DIR");
	int				 mode = RTLD_NOW |
	    (all ? RTLD_GLOBAL : RTLD_LOCAL);
	int				 got = 0;
	void				*so = NULL, *found;

	if (dir && *dir) {
		got = load(dir, 1100, "", name, mode, &so, err);
	} else {
		dir = PLUGIN_DIR;
		for (size_t i = 0; n > 0 && !got &&
		    i < sizeof below / sizeof *below; i++)
			got = load(folder, n, below[i], name, mode, &so, err);
		if (!got)
			got = load(dir, 1100, "", name, mode, &so, err);
	}
	if (got <= 0) {
		if (got == 0)
			err_set(err, "no libaccel-%s.so in %s", name, dir);
		return NULL;
	}
	found = dlsym(so, symbol);
	if (!found) {
		err_set(err, "libaccel-%s.so has no %s", name, symbol);
		err_hint(err, "install accel anew: its parts do not belong "
		    "together");
	}
	return found;
}

void *
plugin_beside(const char *name, const char *symbol, int all, struct err *err)
{
	static const char here;		/* its address tells the file */
	const char *file = "", *slash;
	Dl_info me;

	if (dladdr(&here, &me) != 0 && me.dli_fname != NULL)
		file = me.dli_fname;
	slash = strrchr(file, '/');
	return plugin_symbol(name, symbol, file,
	    slash != NULL ? (int)(slash - file) : 0, all, err);
}
