/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/mpi.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

enum { SEGMENTS_MAX = 64, ENTRIES_MAX = 1024 };

static bool
read_at(int fd, void *to, size_t n, uint64_t at)
{
	return at < (uint64_t)1 << 40 &&
	    pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Open MPI since 2.0 is libmpi.so.20, and 40 since 3.0; MPICH and Intel MPI are
 * 12. */
static bool
is_its_name(const char *name)
{
	long	version;

	return !strncmp(name, "libmpi.so.", 10) &&
	    num_parse(name + 10, 20, 999, &version) == 0;
}

/* The libraries that a program of this machine's kind says that it needs. */
static bool
needs_it(int fd)
{
	ElfW(Ehdr)	head;
	ElfW(Phdr)	segment[SEGMENTS_MAX];
	ElfW(Dyn)	entry[ENTRIES_MAX];
	uint64_t	dynamic = 0, entries = 0, names = 0, place = 0;
	char		name[32];

	if (!read_at(fd, &head, sizeof head, 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 :
	    ELFCLASS32) || head.e_phentsize != sizeof *segment ||
	    head.e_phnum > SEGMENTS_MAX ||
	    !read_at(fd, segment, head.e_phnum * sizeof *segment, head.e_phoff))
		return false;
	for (int i = 0; i < head.e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC) {
			dynamic = segment[i].p_offset;
			entries = segment[i].p_filesz / sizeof *entry;
		}
	if (entries > ENTRIES_MAX)
		entries = ENTRIES_MAX;
	if (!read_at(fd, entry, entries * sizeof *entry, dynamic))
		return false;
	for (uint64_t k = 0; k < entries; k++)
		if (entry[k].d_tag == DT_STRTAB)
			names = entry[k].d_un.d_ptr;
	/* The table of names is given by where it will be in memory. */
	for (int i = 0; i < head.e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    names >= segment[i].p_vaddr &&
		    names - segment[i].p_vaddr < segment[i].p_filesz)
			place = names - segment[i].p_vaddr +
			    segment[i].p_offset;
	for (uint64_t k = 0; place && k < entries; k++) {
		ssize_t n;

		if (entry[k].d_tag != DT_NEEDED ||
		    entry[k].d_un.d_val > INT32_MAX)
			continue;
		n = pread(fd, name, sizeof name - 1,
		    (off_t)(place + entry[k].d_un.d_val));
		name[n > 0 ? n : 0] = '\0';
		if (is_its_name(name))
			return true;
	}
	return false;
}

/* As execvp finds it. */
static int
open_program(const char *program)
{
	const char	*path = getenv("PATH");
	char		 full[4096];
	int		 fd = -1;

	if (strchr(program, '/'))
		return open(program, O_RDONLY | O_CLOEXEC);
	while (path && *path && fd < 0) {
		size_t n = strcspn(path, ":");

		snprintf(full, sizeof full, "%.*s/%s", (int)n, path, program);
		if (access(full, X_OK) == 0)
			fd = open(full, O_RDONLY | O_CLOEXEC);
		path += n + (path[n] == ':');
	}
	return fd;
}

bool
mpi_is_open_mpi(const char *program)
{
	int	fd = open_program(program);
	bool	is = fd >= 0 && needs_it(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

int
mpi_choose(const char *how, const char *program, bool *pmix, struct err *err)
{
	if (!how || !strcmp(how, "auto"))
		*pmix = program && mpi_is_open_mpi(program);
	else if (!strcmp(how, "pmi") || !strcmp(how, "pmix"))
		*pmix = how[3] == 'x';
	else {
		err_set(err, "--mpi %s: no such way to start an MPI", how);
		return err_hint(err, "it is auto, pmi (MPICH, Intel MPI) or "
		    "pmix (Open MPI)");
	}
	return 0;
}
