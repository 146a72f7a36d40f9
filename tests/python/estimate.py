# SPDX-License-Identifier: Apache-2.0
"""Compares accel estimate-memory and accel env with Accelerate's own code.

estimate.py ACCEL FOLDER; prints TAP.
"""

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys

import torch
from accelerate.commands import estimate
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

accel, folder = sys.argv[1:]
count = 0
failed = 0


def ok(good, what, *details):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, what))
    if not good:
        for text in details:
            print("\n".join("# " + line for line in str(text).splitlines()))


def run(*words, **more):
    return subprocess.run([accel, *words], capture_output=True, text=True, **more)


# Models as transformers builds them, part for part.


class LlamaDecoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, d, f = c["hidden_size"], c["head_dim"], c["intermediate_size"]
        q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
        self.q, self.o = nn.Linear(h, q, bias=False), nn.Linear(q, h, bias=False)
        self.k, self.v = nn.Linear(h, kv, bias=False), nn.Linear(h, kv, bias=False)
        self.gate, self.up = nn.Linear(h, f, bias=False), nn.Linear(h, f, bias=False)
        self.down = nn.Linear(f, h, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(h), nn.RMSNorm(h)


class Rotary(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("inv_freq", torch.zeros(d // 2), persistent=False)
        self.register_buffer("original", torch.zeros(d // 2), persistent=False)


class Llama(nn.Module):
    _no_split_modules = ["LlamaDecoderLayer"]

    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(LlamaDecoderLayer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"])
        self.rotary = Rotary(c["head_dim"])


class GPT2Block(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.attn, self.proj = nn.Linear(h, 3 * h), nn.Linear(h, h)
        self.fc, self.out = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)


class GPT2(nn.Module):
    _no_split_modules = ["GPT2Block"]

    def __init__(self, c):
        super().__init__()
        h, p = c["n_embd"], c["n_positions"]
        self.wte, self.wpe = nn.Embedding(c["vocab_size"], h), nn.Embedding(p, h)
        self.h = nn.ModuleList(GPT2Block(h) for _ in range(c["n_layer"]))
        self.ln_f = nn.LayerNorm(h)


class BertEmbeddings(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, p = c["hidden_size"], c["max_position_embeddings"]
        self.word_embeddings = nn.Embedding(c["vocab_size"], h)
        self.positions = nn.Embedding(p, h)
        self.types = nn.Embedding(c["type_vocab_size"], h)
        self.norm = nn.LayerNorm(h)
        self.register_buffer("position_ids", torch.zeros((1, p), dtype=torch.int64), persistent=False)
        self.register_buffer("token_type_ids", torch.zeros((1, p), dtype=torch.int64), persistent=False)


class BertLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, f = c["hidden_size"], c["intermediate_size"]
        self.q, self.k = nn.Linear(h, h), nn.Linear(h, h)
        self.v, self.o = nn.Linear(h, h), nn.Linear(h, h)
        self.up, self.down = nn.Linear(h, f), nn.Linear(f, h)
        self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)


class Bert(nn.Module):
    _no_split_modules = ["BertEmbeddings", "BertLayer"]

    def __init__(self, c):
        super().__init__()
        self.embeddings = BertEmbeddings(c)
        self.layer = nn.ModuleList(BertLayer(c) for _ in range(c["num_hidden_layers"]))
        self.pooler = nn.Linear(c["hidden_size"], c["hidden_size"])


models = [
    ("llama", Llama, dict(model_type="llama", hidden_size=512, intermediate_size=1365, num_hidden_layers=7,
                          num_attention_heads=8, num_key_value_heads=2, head_dim=48, vocab_size=3001)),
    ("wide", Llama, dict(model_type="llama", hidden_size=96, intermediate_size=200, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=4, head_dim=24, vocab_size=70001)),
    ("gpt2", GPT2, dict(model_type="gpt2", n_embd=320, n_positions=640, n_layer=5, n_head=8, vocab_size=999)),
    ("bert", Bert, dict(model_type="bert", hidden_size=256, intermediate_size=1000, num_hidden_layers=3,
                        num_attention_heads=4, max_position_embeddings=300, type_vocab_size=2, vocab_size=12345)),
    ("a-name-that-is-wider-than-the-table-that-stands-under-it-by-some-letters", Bert,
     dict(model_type="bert", hidden_size=64, intermediate_size=128, num_hidden_layers=1,
          num_attention_heads=4, max_position_embeddings=8, type_vocab_size=2, vocab_size=10)),
]
ascii_of = str.maketrans("┌┐└┘├┤┬┴┼─│", "+++++++++-|")

for name, kind, config in models:
    path = os.path.join(folder, name)
    os.makedirs(path)
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(config, f)
    with torch.device("meta"):
        model = kind(config)
    estimate.create_empty_model = lambda *a, **k: model
    for dtypes in (["float32", "float16", "int8", "int4"], ["int4"]):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            estimate.estimate_command(argparse.Namespace(
                model_name=name, library_name=None, dtypes=dtypes, trust_remote_code=False))
        want = said.getvalue().translate(ascii_of).strip()
        got = run("estimate-memory", name, "--dtypes", *dtypes, cwd=folder).stdout.split("\n\n")[0].strip()
        ok(got == want, "the table for %s is Accelerate's: %s" % (kind.__name__, " ".join(dtypes)), got, want)
    got = json.loads(run("estimate-memory", name, "--json", cwd=folder).stdout)["loading"][0]
    total, (largest, _) = estimate.calculate_maximum_sizes(model)
    ok(got["total_size"] == total and got["largest_layer"] == largest,
       "to the byte", got, total, largest)

# Activations: what autograd keeps of layers as transformers has them.


class RMSNorm(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(h))

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Layer(nn.Module):
    def __init__(self, c, gated):
        super().__init__()
        h, f = c["hidden_size"], c["intermediate_size"]
        self.heads, self.kv = c["num_attention_heads"], c["num_key_value_heads"]
        self.d = h // self.heads
        norm = RMSNorm if gated else nn.LayerNorm
        self.norm1, self.norm2 = norm(h), norm(h)
        self.q, self.o = nn.Linear(h, h), nn.Linear(h, h)
        self.k, self.v = nn.Linear(h, self.kv * self.d), nn.Linear(h, self.kv * self.d)
        self.gate = nn.Linear(h, f) if gated else None
        self.up, self.down = nn.Linear(h, f), nn.Linear(f, h)

    def forward(self, x):
        b, s, _ = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(b, s, -1, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, -1))
        y = self.norm2(x)
        up = self.up(y)
        y = nn.functional.silu(self.gate(y)) * up if self.gate else nn.functional.gelu(up)
        return x + self.down(y)


def kept(model, x, context):
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    tensors, sizes = [], {}

    def pack(t):
        tensors.append(t)  # alive, so that no place is used twice
        storage = t.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), context:
        model(x)
    return sum(sizes.values())


batch, sequence = 8, 512
for gated, kv in ((False, 4), (True, 4), (True, 2)):
    config = dict(model_type="llama" if gated else "starcoder2", hidden_size=256, num_attention_heads=4,
                  num_key_value_heads=kv, intermediate_size=704 if gated else 1024, num_hidden_layers=3,
                  vocab_size=10)
    path = os.path.join(folder, "act.json")
    with open(path, "w") as f:
        json.dump(config, f)
    for precision in ("fp32", "bf16-pure", "bf16"):
        model = nn.Sequential(*(Layer(config, gated) for _ in range(3)))
        x = torch.randn(batch, sequence, 256)
        context = contextlib.nullcontext()
        casts = 0
        if precision == "bf16-pure":
            model, x = model.to(torch.bfloat16), x.to(torch.bfloat16)
        elif precision == "bf16":
            context = torch.autocast("cpu", torch.bfloat16)
            casts = 2 * sum(p.numel() for p in model.parameters() if p.dim() > 1)
        want = kept(model, x.requires_grad_(), context) - casts
        row, = json.loads(run("estimate-memory", path, "--json", "--precision", precision, "--batch_size", str(batch),
                              "--seq_length", str(sequence)).stdout)["ranks"]
        got = row["device_parts"]["activations"]
        ok(abs(got / want - 1) < 0.01, "activations of %s, %d heads of keys, %s, within 1 %%"
           % (config["model_type"], kv, precision), got, want)
        if casts:
            temporary, = (t["bytes"] for t in row["terms"] if t["part"] == "temporary")
            ok(abs(temporary / casts - 1) < 0.01, "and the casts of its weights", temporary, casts)

# Optimizers: what PyTorch's keep after a step.
path = os.path.join(folder, "act.json")
count_of = json.loads(run("estimate-memory", path, "--json").stdout)["model"]["parameters"]
for word, kind, more in (("sgd", torch.optim.SGD, {}), ("momentum", torch.optim.SGD, {"momentum": 0.9}),
                         ("adam", torch.optim.Adam, {}), ("adam", torch.optim.AdamW, {})):
    for precision, dtype in (("fp32", torch.float32), ("bf16-pure", torch.bfloat16)):
        p = nn.Parameter(torch.zeros(1000, dtype=dtype))
        optimizer = kind([p], **more)
        p.grad = torch.zeros_like(p)
        optimizer.step()
        want = sum(t.numel() * t.element_size() for t in optimizer.state[p].values()
                   if torch.is_tensor(t) and t.dim()) / 1000
        row, = json.loads(run("estimate-memory", path, "--json", "--precision", precision, "--optimizer",
                              word).stdout)["ranks"]
        got = row["device_parts"]["optimizer"] / count_of
        ok(got == want, "%s keeps %g bytes a parameter, %s" % (kind.__name__, want, precision), got)

# The same from weights, which have no buffers that are not saved.
with torch.device("meta"):
    model = Llama(models[0][2])
model = model.to_empty(device="cpu")
path = os.path.join(folder, "w.safetensors")
save_file(dict(model.state_dict()), path)
got = json.loads(run("estimate-memory", path, "--json").stdout)
ok(got["model"]["parameters"] == sum(p.numel() for p in model.parameters()), "parameters from weights", got["model"])
ok(got["loading"][0]["total_size"] == 4 * got["model"]["parameters"], "and their size")
ok(got["model"]["layers"] == 7 and got["model"]["hidden"] == 512, "and layers and width", got["model"])


# Damaged headers: what safetensors refuses, we refuse.  (We refuse more: a name
# twice, say.)
def accepted_by_them(file):
    try:
        with safe_open(file, "np") as f:
            f.keys()
        return True
    except (SafetensorError, OSError):
        return False


small = {"a": torch.zeros(2, 3), "b.c": torch.zeros(4, dtype=torch.bfloat16), "n": torch.zeros((), dtype=torch.int64)}
path = os.path.join(folder, "small.safetensors")
save_file(small, path, metadata={"format": "pt"})
with open(path, "rb") as f:
    good = f.read()
random.seed(4)
wrong, strict, both = [], 0, 0
for i in range(300):
    bad = bytearray(good)
    n = int.from_bytes(bad[:8], "little")
    for _ in range(random.choice((1, 1, 2))):
        how = random.random()
        at = 8 + random.randrange(n)
        if len(bad) <= at:
            continue
        if how < 0.6:
            bad[at] = random.choice(b'0123456789[]{},:"FIB ae-')
        elif how < 0.8:
            del bad[random.randrange(len(bad)):]
        else:
            bad[random.randrange(8)] = random.randrange(256)
    with open(path, "wb") as f:
        f.write(bad)
    theirs = accepted_by_them(path)
    got = run("estimate-memory", path)
    ours = got.returncode == 0
    if got.returncode not in (0, 1) or (ours and not theirs):
        wrong.append((bytes(bad), got.stderr))
    strict += theirs and not ours
    both += theirs and ours
ok(not wrong, "300 damaged files: none is read that safetensors refuses", wrong[:3])
ok(both > 5 and strict < 15, "and few are refused that it reads", both, strict)

# The report.
os.environ["HF_HOME"] = os.path.join(folder, "hf")
config = os.path.join(folder, "c.yaml")
with open(config, "w") as f:
    f.write("distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 2\ndebug: true\n"
            "fsdp_config:\n  fsdp_version: 2\n  fsdp_offload_params: false\n"
            "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n")
for words in ([], ["--config_file", config]):
    theirs = subprocess.run([sys.executable, "-m", "accelerate.commands.accelerate_cli", "env", *words],
                            capture_output=True, text=True).stdout
    ours = run("env", *words, env=dict(os.environ, ACCEL_PYTHON=sys.executable)).stdout
    head = theirs.split("config")[0]
    ok(ours.startswith(head), "accel env begins as accelerate env" + " ".join(words[:1]), ours[:800], head)
    theirs = theirs.split("onfig", 1)[1].splitlines()
    ours = ours.split("onfig", 1)[1].split("\n\n")[0].splitlines()

    def parts(lines):
        out = []
        for line in lines:
            name, _, value = line.strip().partition(": ")
            out.append((name, eval(value) if value.startswith("{") else value))
        return out

    ok(len(ours) > 1 and all(p in parts(theirs) for p in parts(ours)), "and tells the same values", ours, theirs)

print("1..%d" % count)
sys.exit(failed > 0)
