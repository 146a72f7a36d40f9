# SPDX-License-Identifier: Apache-2.0
# state.py state DIR: the arrays of a checkpoint, by file, and the parameters' hash
# state.py model DIR: the same hash of what transformers loads
import sys

import numpy
from safetensors import safe_open


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "hash %016x" % value


def state(folder):
    for part in "model", "optimizer", "objects", "ranks":
        with safe_open(f"{folder}/{part}.safetensors", "np") as file:
            names = sorted(file.keys())
            arrays = [file.get_tensor(name) for name in names]
            assert file.metadata() == {"format": "pt"}
        print(*names)
        if part == "model":
            assert {a.dtype for a in arrays} == {numpy.dtype("float16")}
            assert {a.shape for a in arrays} == {(40, 100)}
            parameters = b"".join(a.tobytes() for a in arrays)
    print(fnv(parameters))


def model(folder):
    import torch
    import transformers

    class Config(transformers.PretrainedConfig):
        model_type = "ours"

    class Model(transformers.PreTrainedModel):
        config_class = Config

        def __init__(self, config):
            super().__init__(config)
            for name in "abc":
                setattr(self, name, torch.nn.Parameter(torch.zeros(40, 100)))
            self.post_init()

        def _init_weights(self, module):
            pass

    Config().save_pretrained(folder)
    got, info = Model.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    print(fnv(b"".join(getattr(got, name).detach().numpy().tobytes()
                       for name in "abc")))


{"state": state, "model": model}[sys.argv[1]](sys.argv[2])
