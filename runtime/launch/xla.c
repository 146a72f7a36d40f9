/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/xla.h"

#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/schema.h"
#include "runtime/base/banned.h"

/* Python, given by -c: "file" or "module", the function, the script and its
 * arguments. */
static const char start[] =
"import importlib, os, sys\n"
"how, function, script = sys.argv[1:4]\n"
"sys.argv = sys.argv[3:]\n"
"try:\n"
"    import torch_xla.distributed.xla_multiprocessing as xmp\n"
"    from accelerate.utils import PrepareForLaunch\n"
"except ImportError as e:\n"
"    sys.exit('a TPU needs torch_xla and accelerate: %s' % e)\n"
"if how == 'file':\n"
"    folder, name = os.path.split(os.path.abspath(script))\n"
"    sys.path.append(folder)\n"
"    script = os.path.splitext(name)[0]\n"
"module = importlib.import_module(script)\n"
"if not hasattr(module, function):\n"
"    sys.exit('%s has no function %s: name it with '\n"
"             '--main_training_function' % (sys.argv[0], function))\n"
"xmp.spawn(PrepareForLaunch(getattr(module, function)), args=())\n";

bool
xla_wanted(const struct config *c)
{
	return c->main.distributed_type == dist_XLA && !c->main.use_cpu;
}

int
xla_argv(const struct config *c, const char *python, char *const script[],
    struct strv *argv, struct err *err)
{
	const char	*function = c->main.main_training_function;
	const char	*words[] = { python, "-u", "-c", start,
	    c->launch.module ? "module" : "file", function ? function : "main" };

	if (c->launch.no_python) {
		err_set(err, "--no_python does not go with a TPU");
		return err_hint(err, "a TPU's script is Python");
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strv_add(argv, words[i]) < 0)
			return err_nomem(err);
	for (; *script; script++)
		if (strv_add(argv, *script) < 0)
			return err_nomem(err);
	return 0;
}
