/* SPDX-License-Identifier: Apache-2.0 */
/* PMI-1, as MPICH speaks it. */
#include "runtime/base/buf.h"
#include "runtime/device/pmi.h"
#include "tests/tap.h"

static struct buf heard[2];

static void
hear(void *user, size_t rank, const char *line, size_t n)
{
	(void)user;
	buf_add(&heard[rank], line, n);
}

static int
say(struct pmi *pmi, size_t rank, const char *line)
{
	buf_clear(&heard[rank]);
	return pmi_line(pmi, rank, line, strlen(line));
}

int
main(void)
{
	struct pmi *pmi = pmi_new(2, "accel-1", hear, NULL);

	say(pmi, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
	is(buf_text(&heard[0]), "cmd=response_to_init pmi_version=1 "
	    "pmi_subversion=1 rc=0\n", "init");
	say(pmi, 0, "cmd=get_my_kvsname\n");
	is(buf_text(&heard[0]), "cmd=my_kvsname kvsname=accel-1\n", "the job's name");
	say(pmi, 0, "cmd=put kvsname=accel-1 key=k value=a key=b c\n");
	is(buf_text(&heard[0]), "cmd=put_result rc=0 msg=success\n", "put");
	say(pmi, 1, "cmd=get kvsname=accel-1 key=k\n");
	is(buf_text(&heard[1]), "cmd=get_result rc=0 msg=success value=a key=b c\n",
	    "get from another rank; a value is the rest of its line");
	say(pmi, 1, "cmd=get kvsname=accel-1 key=none\n");
	ok(strstr(buf_text(&heard[1]), "rc=-1"), "a key that is not there");
	say(pmi, 0, "cmd=barrier_in\n");
	is(buf_text(&heard[0]), "", "one rank waits in the barrier");
	say(pmi, 0, "cmd=barrier_in\n");
	is(buf_text(&heard[0]), "", "the same rank twice is still one");
	say(pmi, 1, "cmd=barrier_in\n");
	ok(strstr(buf_text(&heard[0]), "cmd=barrier_out") &&
	    strstr(buf_text(&heard[1]), "cmd=barrier_out"), "both leave it");
	ok(say(pmi, 0, "cmd=finalize\n") == -1, "finalize ends nothing");
	ok(say(pmi, 1, "cmd=abort exitcode=7\n") == 7, "abort gives the exit code");
	ok(say(pmi, 1, "nonsense\n") == -1 && !buf_text(&heard[1])[0],
	    "nonsense is not answered");
	pmi_free(pmi);
	buf_clear(&heard[0]), buf_clear(&heard[1]);
	return tap_done();
}
