/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/cma.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/banned.h"

_Thread_local jmp_buf *cma_way_out;

static ssize_t
leave_if_gone(ssize_t n)
{
	if (n < 0 && errno == ESRCH && cma_way_out != NULL)
		longjmp(*cma_way_out, 1);
	return n;
}

static ssize_t
read_from(pid_t pid, const struct iovec *to, unsigned long nto,
    const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
	return leave_if_gone(process_vm_readv(pid, to, nto, from, nfrom,
	    flags));
}

static ssize_t
write_to(pid_t pid, const struct iovec *from, unsigned long nfrom,
    const struct iovec *to, unsigned long nto, unsigned long flags)
{
	return leave_if_gone(process_vm_writev(pid, from, nfrom, to, nto,
	    flags));
}

/* Where a module calls "name" through "slot", it calls fn from now on.  The
 * page may have been made read-only once the module was bound. */
static void
replace(void **slot, void *fn)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(size - 1));

	if (mprotect(page, size, PROT_READ | PROT_WRITE) == 0)
		*slot = fn;
}

#if defined(__LP64__)
#define SYM(info) ELF64_R_SYM(info)
#else
#define SYM(info) ELF32_R_SYM(info)
#endif

static void
walk(const struct link_map *map, const ElfW(Rela) *rela, size_t bytes,
    const ElfW(Sym) *symbol, const char *text)
{
	for (size_t i = 0; i < bytes / sizeof(*rela); i++) {
		const char *name = text + symbol[SYM(rela[i].r_info)].st_name;
		void **slot = (void **)(map->l_addr + rela[i].r_offset);
		ssize_t (*fn)(pid_t, const struct iovec *, unsigned long,
		    const struct iovec *, unsigned long, unsigned long);
		void *raw;

		if (strcmp(name, "process_vm_readv") == 0)
			fn = read_from;
		else if (strcmp(name, "process_vm_writev") == 0)
			fn = write_to;
		else
			continue;
		memcpy(&raw, &fn, sizeof(raw));
		replace(slot, raw);
	}
}

void
cma_guard(void)
{
	void *module = dlopen("libuct_cma.so.0", RTLD_LAZY | RTLD_NOLOAD);
	const ElfW(Rela) *jump = NULL, *data = NULL;
	const ElfW(Sym) *symbol = NULL;
	const char *text = NULL;
	size_t njump = 0, ndata = 0;
	bool with_addend = true;
	struct link_map *map;

	if (module == NULL || dlinfo(module, RTLD_DI_LINKMAP, &map) != 0)
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_JMPREL:
			jump = at;
			break;
		case DT_PLTRELSZ:
			njump = d->d_un.d_val;
			break;
		case DT_RELA:
			data = at;
			break;
		case DT_RELASZ:
			ndata = d->d_un.d_val;
			break;
		case DT_PLTREL:
			with_addend = d->d_un.d_val == DT_RELA;
			break;
		case DT_SYMTAB:
			symbol = at;
			break;
		case DT_STRTAB:
			text = at;
			break;
		default:
			break;
		}
	}
	if (with_addend && symbol != NULL && text != NULL) {
		walk(map, jump, jump != NULL ? njump : 0, symbol, text);
		walk(map, data, data != NULL ? ndata : 0, symbol, text);
	}
	dlclose(module);
}
