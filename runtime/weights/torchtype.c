/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/weights/torchtype.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/safetensors.h"

#include "runtime/base/banned.h"

const struct torchtype torchtypes[] = {
	{ "BOOL", "torch bool", "torch BoolStorage" },
	{ "U8", "torch uint8", "torch ByteStorage" },
	{ "I8", "torch int8", "torch CharStorage" },
	{ "I16", "torch int16", "torch ShortStorage" },
	{ "I32", "torch int32", "torch IntStorage" },
	{ "I64", "torch int64", "torch LongStorage" },
	{ "F16", "torch float16", "torch HalfStorage" },
	{ "BF16", "torch bfloat16", "torch BFloat16Storage" },
	{ "F32", "torch float32", "torch FloatStorage" },
	{ "F64", "torch float64", "torch DoubleStorage" },
	{ "C64", "torch complex64", "torch ComplexFloatStorage" },
	{ "U16", "torch uint16", NULL },
	{ "U32", "torch uint32", NULL },
	{ "U64", "torch uint64", NULL },
	{ "F8_E4M3", "torch float8_e4m3fn", NULL },
	{ "F8_E5M2", "torch float8_e5m2", NULL },
	{ "F8_E4M3FNUZ", "torch float8_e4m3fnuz", NULL },
	{ "F8_E5M2FNUZ", "torch float8_e5m2fnuz", NULL },
	{ "F8_E8M0", "torch float8_e8m0fnu", NULL },
	{ NULL, NULL, NULL }
};

/* Classes that are no more than their fields. */
static const char *const plain[] = {
	"torch.distributed.checkpoint.metadata Metadata",
	"torch.distributed.checkpoint.metadata TensorStorageMetadata",
	"torch.distributed.checkpoint.metadata BytesStorageMetadata",
	"torch.distributed.checkpoint.metadata ChunkStorageMetadata",
	"torch.distributed.checkpoint.metadata TensorProperties",
	"torch.distributed.checkpoint.metadata _MEM_FORMAT_ENCODING",
	"torch.distributed.checkpoint.metadata MetadataIndex",
	"torch.distributed.checkpoint.metadata StorageMeta",
	"torch.distributed.checkpoint.filesystem _StorageInfo",
	"torch Size", "torch.serialization _get_layout",
	"collections OrderedDict",
	/* where the checkpoint was when it was written */
	"pathlib Path", "pathlib PosixPath", "pathlib WindowsPath",
	"pathlib PurePath", "pathlib PurePosixPath",
	"pathlib PureWindowsPath", "pathlib._local PosixPath",
	"pathlib._local WindowsPath",
	TORCH_UNTYPED, TORCH_TENSOR, TORCH_TENSOR3, TORCH_PARAMETER,
};

static const struct torchtype *
find(const char *text, size_t offset)
{
	for (const struct torchtype *t = torchtypes; t->name; t++) {
		const char *at = *(const char *const *)((const char *)t +
		    offset);

		if (at && !strcmp(at, text))
			return t;
	}
	return NULL;
}

const struct torchtype *
torchtype_of(const char *torch)
{
	return find(torch, offsetof(struct torchtype, torch));
}

const struct torchtype *
torchtype_of_storage(const char *storage)
{
	return find(storage, offsetof(struct torchtype, storage));
}

const struct torchtype *
torchtype_of_dtype(const struct dtype *dtype)
{
	return find(dtype->name, offsetof(struct torchtype, name));
}

bool
torch_known(const char *name)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(plain[i], name))
			return true;
	return torchtype_of(name) || torchtype_of_storage(name);
}
