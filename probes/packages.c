/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packages: a Python's packages, by their metadata.  PyTorch says more than its
 * metadata in torch/version.py, which imports nothing and is run alone: what
 * "import torch" would tell, in hundredths of its time.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "probes/probe.h"
#include "probes/software.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

static const char script[] =
    "import sys\n"
    "sys.path[:] = [p for p in sys.path if p]  # not this folder's files\n"
    "import os, platform\n"
    "from importlib import metadata\n"
    "def tell(name, value):\n"
    "    if value: print('%s=%s' % (name, str(value).replace('\\n', ' ')))\n"
    "tell('executable', sys.executable)\n"
    "tell('version', platform.python_version())\n"
    "for name in ('accelerate', 'torch', 'numpy', 'transformers', 'safetensors',\n"
    "        'huggingface_hub', 'datasets', 'peft', 'deepspeed', 'megatron-core',\n"
    "        'transformer_engine', 'msamp', 'torchao', 'bitsandbytes', 'flash_attn',\n"
    "        'xformers', 'triton', 'mpi4py', 'sagemaker', 'nvidia-nccl-cu13',\n"
    "        'nvidia-nccl-cu12', 'nvidia-nccl-cu11'):\n"
    "    try: tell(name, metadata.version(name))\n"
    "    except Exception: pass\n"
    "try:\n"
    "    where = next(p for p in sys.path if os.path.isfile(\n"
    "        os.path.join(p, 'torch', 'version.py')))\n"
    "    said = {}\n"
    "    with open(os.path.join(where, 'torch', 'version.py')) as f:\n"
    "        exec(f.read(), said)\n"
    "    tell('torch', said.get('__version__'))\n"
    "    for name in ('cuda', 'hip', 'xpu'):\n"
    "        tell('torch_' + name, said.get(name))\n"
    "except Exception: pass\n";

/* One line, NAME=VALUE; a later one replaces. */
static int
take_line(struct strv *facts, char *line)
{
	char *equals = strchr(line, '=');

	if (!equals || equals == line)
		return 0;
	*equals = '\0';
	return strv_setenv(facts, line, equals + 1);
}

int
probe_packages(struct strv *facts, const char *python, int ms,
    void (*slow)(const char *python), struct err *err)
{
	char *argv[] = { (char *)python, "-c", (char *)script, NULL };
	struct buf out = { .max = 1 << 20 };
	struct pollfd p = { .events = POLLIN };
	char *text, *end;
	pid_t child;
	int status = 0;

	if (probe_spawn(argv, false, &child, &p.fd)) {
		err_set(err, "%s: there is no such program", python);
		return err_hint(err, "ACCEL_PYTHON names another; "
		    "--no_python asks none");
	}
	if (slow && ms > 1000 && poll(&p, 1, 1000) == 0) {
		slow(python);
		ms -= 1000;
	}
	if (probe_collect(child, p.fd, ms, &out)) {
		buf_clear(&out);
		err_set(err, "%s gave no answer, or an error", python);
		return err_hint(err, "try: %s -c 'import sys'; --no_python "
		    "asks none", python);
	}
	text = buf_detach(&out);
	for (char *at = text; at && !status && (end = strchr(at, '\n'));
	    at = end + 1) {
		*end = '\0';
		status = take_line(facts, at);
	}
	free(text);
	return status ? err_nomem(err) : 0;
}
