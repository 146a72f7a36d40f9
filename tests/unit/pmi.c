/* SPDX-License-Identifier: Apache-2.0 */
/* PMI-1, as MPICH speaks it. */
#include <time.h>

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

static bool
out(size_t rank)
{
	return strstr(buf_text(&heard[rank]), "cmd=barrier_out");
}

/* Waits until a tick has opened a barrier, or has surely not. */
static void
tick(struct pmi *pmi, size_t rank)
{
	struct timespec step = { 0, 50000000 };

	for (int ms = 0; ms < PMI_PATIENCE_MS + 500 && !out(rank); ms += 50) {
		nanosleep(&step, NULL);
		pmi_tick(pmi);
	}
}

/* What accel-pmix waits with. */
static void
waited(struct pmi *pmi)
{
	say(pmi, 0, "cmd=get_wait kvsname=accel-1 key=soon\n");
	is(buf_text(&heard[0]), "", "a get that waits has no answer yet");
	say(pmi, 1, "cmd=put kvsname=accel-1 key=sooner value=no\n");
	is(buf_text(&heard[0]), "", "another key is none");
	say(pmi, 1, "cmd=put kvsname=accel-1 key=soon value=yes\n");
	is(buf_text(&heard[0]),
	    "cmd=get_result rc=0 msg=success value=yes\n", "the key is one");
	say(pmi, 1, "cmd=get_wait kvsname=accel-1 key=soon\n");
	is(buf_text(&heard[1]),
	    "cmd=get_result rc=0 msg=success value=yes\n",
	    "what is there already is given at once");
	say(pmi, 1, "cmd=get_wait kvsname=accel-1 key=never\n");
}

/* The mend of MPICH's MPI_Finalize; one barrier has been passed before. */
static void
mended(struct pmi *pmi)
{
	say(pmi, 1, "cmd=put kvsname=accel-1 key=late value=1\n");
	say(pmi, 0, "cmd=barrier_in\n");
	tick(pmi, 0);
	ok(!out(0), "a barrier that guards news waits for all");
	buf_clear(&heard[0]);
	say(pmi, 1, "cmd=barrier_in\n");
	ok(out(0) && out(1), "who then leave it");
	say(pmi, 0, "cmd=barrier_in\n");
	ok(!out(0), "one without news waits a while");
	tick(pmi, 0);
	ok(out(0), "and then opens");
	say(pmi, 0, "cmd=barrier_in\n");
	ok(!out(0), "the next one is another");
	say(pmi, 1, "cmd=barrier_in\n");
	ok(out(1) && !out(0), "who comes late to the first leaves it at once");
	say(pmi, 1, "cmd=barrier_in\n");
	ok(out(0) && out(1), "and both leave the next");
}

/* A rank of a hostile host puts without end. */
static void
filled(struct pmi *pmi)
{
	char	line[80];
	long	taken = 0;

	say(pmi, 1, "cmd=put kvsname=accel-1 key=twice value=old\n");
	say(pmi, 1, "cmd=put kvsname=accel-1 key=twice value=new\n");
	say(pmi, 0, "cmd=get kvsname=accel-1 key=twice\n");
	is(buf_text(&heard[0]), "cmd=get_result rc=0 msg=success value=new\n",
	    "the newest value of a key counts");
	for (long i = 0; i < 10000; i++) {
		snprintf(line, sizeof line,
		    "cmd=put kvsname=accel-1 key=fill%ld value=x\n", i);
		say(pmi, 1, line);
		taken += strstr(buf_text(&heard[1]), "rc=0") != NULL;
	}
	ok(taken > 1000 && taken < 5000, "a rank may put %ld values", taken);
	say(pmi, 0, "cmd=put kvsname=accel-1 key=other value=1\n");
	ok(strstr(buf_text(&heard[0]), "rc=0"), "which keeps no other from it");
	say(pmi, 0, "cmd=get kvsname=accel-1 key=fill999\n");
	ok(strstr(buf_text(&heard[0]), "value=x"), "what was taken is there");
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
	waited(pmi);
	mended(pmi);
	filled(pmi);
	ok(say(pmi, 0, "cmd=finalize\n") == -1, "finalize ends nothing");
	ok(say(pmi, 1, "cmd=abort exitcode=7\n") == 7, "abort gives the exit code");
	ok(say(pmi, 1, "nonsense\n") == -1 && !buf_text(&heard[1])[0],
	    "nonsense is not answered");
	pmi_free(pmi);
	buf_clear(&heard[0]), buf_clear(&heard[1]);
	return tap_done();
}
