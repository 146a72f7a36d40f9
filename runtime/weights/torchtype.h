/* SPDX-License-Identifier: Apache-2.0 */
/* torchtype: the element types of PyTorch, by each of their names. */
#ifndef RUNTIME_WEIGHTS_TORCHTYPE_H
#define RUNTIME_WEIGHTS_TORCHTYPE_H

#include <stdbool.h>

struct dtype;

struct torchtype {
	const char	*name;		/* of safetensors: "BF16" */
	const char	*torch;		/* in a pickle: "torch bfloat16" */
	const char	*storage;	/* "torch BFloat16Storage", or NULL */
};
/* The last has NULL names. */
extern const struct torchtype torchtypes[];

/* By one of the names, or NULL. */
const struct torchtype *torchtype_of(const char *torch);
const struct torchtype *torchtype_of_storage(const char *storage);
const struct torchtype *torchtype_of_dtype(const struct dtype *dtype);

#define TORCH_UNTYPED	"torch.storage UntypedStorage"
#define TORCH_TENSOR	"torch._utils _rebuild_tensor_v2"
#define TORCH_TENSOR3	"torch._utils _rebuild_tensor_v3"
#define TORCH_PARAMETER	"torch._utils _rebuild_parameter"

/* The names that may stand in a checkpoint's pickles. */
bool torch_known(const char *name);
#endif
