/* SPDX-License-Identifier: Apache-2.0 */
/* Whose MPI a program is linked with, from a program made here. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/launch/mpi.h"
#include "tests/tap.h"

struct program {
	ElfW(Ehdr)	head;
	ElfW(Phdr)	segment[2];
	ElfW(Dyn)	entry[4];
	char		names[32];
};

enum { BASE = 0x400000 };

static struct program
program_with(const char *library)
{
	struct program p = {
		.head = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
			    sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 },
			.e_phoff = offsetof(struct program, segment),
			.e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 2,
		},
		.segment = {
			{ .p_type = PT_LOAD, .p_vaddr = BASE,
			  .p_filesz = sizeof(struct program) },
			{ .p_type = PT_DYNAMIC,
			  .p_offset = offsetof(struct program, entry),
			  .p_filesz = sizeof p.entry },
		},
		.entry = {
			{ DT_NEEDED, { 1 } },
			{ DT_STRTAB, { BASE + offsetof(struct program, names) } },
		},
	};

	snprintf(p.names + 1, sizeof p.names - 1, "%s", library);
	return p;
}

static bool
is_one(const char *path, const void *data, size_t n)
{
	int	fd = open(path, O_WRONLY | O_TRUNC);
	bool	wrote = fd >= 0 && write(fd, data, n) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return wrote && mpi_is_open_mpi(path);
}

int
main(void)
{
	static const struct {
		const char *library;
		bool open_mpi;
	} all[] = {
		{ "libmpi.so.40", true }, { "libmpi.so.20", true },
		{ "libmpi.so.12", false }, { "libmpich.so.12", false },
		{ "libmpi.so.", false }, { "libmpi.so.40x", false },
		{ "libc.so.6", false },
	};
	char		path[] = "/tmp/accel-mpi.XXXXXX";
	int		fd = mkstemp(path), other = 0, cut = 0;
	struct program	p;
	struct err	err = ERR_INIT;
	bool		pmix = true;

	ok(fd >= 0, "a file");
	close(fd);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		p = program_with(all[i].library);
		ok(is_one(path, &p, sizeof p) == all[i].open_mpi,
		    "%s is %sOpen MPI's", all[i].library,
		    all[i].open_mpi ? "" : "not ");
	}
	/* Any bytes: nothing but an answer may come of them. */
	p = program_with("libmpi.so.40");
	for (size_t n = 0; n < offsetof(struct program, names); n++)
		cut += is_one(path, &p, n);
	ok(cut == 0, "no part of a program is one");
	for (size_t i = 0; i < sizeof p; i++)
		for (int bit = 0; bit < 8; bit++) {
			((char *)&p)[i] ^= (char)(1 << bit);
			other += is_one(path, &p, sizeof p);
			((char *)&p)[i] ^= (char)(1 << bit);
		}
	ok(other > 0 && other < (int)sizeof p * 8,
	    "each bit of it turned over: an answer");
	ok(!mpi_is_open_mpi("/nowhere") && !mpi_is_open_mpi("sh") &&
	    !mpi_is_open_mpi("/"), "nor are other things");
	is_one(path, &p, sizeof p);
	ok(mpi_choose(NULL, path, &pmix, &err) == 0 && pmix, "seen by itself");
	ok(mpi_choose("pmi", path, &pmix, &err) == 0 && !pmix, "--mpi pmi wins");
	ok(mpi_choose("pmix", "sh", &pmix, &err) == 0 && pmix, "or --mpi pmix");
	ok(mpi_choose("auto", NULL, &pmix, &err) == 0 && !pmix, "Python is none");
	ok(mpi_choose("mpich", path, &pmix, &err) == -1, "no other word");
	is(err.text, "--mpi mpich: no such way to start an MPI", "it says");
	unlink(path);
	return tap_done();
}
