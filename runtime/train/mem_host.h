/* SPDX-License-Identifier: Apache-2.0 */
/* mem_host: the host's own memory as a struct mem: see runtime/device/mem.h. */
#ifndef RUNTIME_TRAIN_MEM_HOST_H
#define RUNTIME_TRAIN_MEM_HOST_H

#include "runtime/device/mem.h"

/* Of a struct mem without any state, which is neither opened nor closed. */
extern const struct mem_ops mem_host_ops;
#endif
