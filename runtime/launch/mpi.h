/* SPDX-License-Identifier: Apache-2.0 */
/* mpi: whose MPI a program is linked with. */
#ifndef RUNTIME_LAUNCH_MPI_H
#define RUNTIME_LAUNCH_MPI_H

#include <stdbool.h>

struct err;

/* True for a program of Open MPI by its own headers: a file, or a name on
 * PATH.  What it may load later is not known. */
bool mpi_is_open_mpi(const char *program);

/* From --mpi: "auto" or NULL, "pmi", "pmix". */
int mpi_choose(const char *how, const char *program, bool *pmix,
    struct err *err);
#endif
