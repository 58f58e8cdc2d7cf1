"""The forward pass of all-MiniLM-L6-v2 in torch, with low-rank changes (LoRA) of its layers."""
import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import BertWordPieceTokenizer
from torch.nn import functional

DIMENSIONS, LAYERS, HEADS = 384, 6, 12
TRAINED_RANK = 16
# The matrices of a layer that are changed, with their rows and columns.
MATRICES = {
    "attention.self.query": (384, 384),
    "attention.self.key": (384, 384),
    "attention.self.value": (384, 384),
    "attention.output.dense": (384, 384),
    "intermediate.dense": (1536, 384),
    "output.dense": (384, 1536),
}
FULL_TOKENS, NAME_TOKENS, QUERY_TOKENS = 64, 32, 64
SEPARATOR = 102
# Matrices are multiplied with this type, which is twice as fast as float32 on CPUs that support it.
FAST = torch.bfloat16


def load(folder):
    """The published weights as float32, and the tokenizer of their vocabulary."""
    weights = load_file(f"{folder}/model.safetensors")
    used = {k: torch.tensor(v).float() for k, v in weights.items() if not k.startswith("pooler") and "position_ids" not in k}
    return used, BertWordPieceTokenizer(f"{folder}/vocab.txt", lowercase=True)


def no_change(seed):
    """Initial low-rank changes, without effect: for each matrix, A is random and B is zero."""
    random, change = torch.Generator().manual_seed(seed), {}
    for layer in range(LAYERS):
        for matrix, (rows, columns) in MATRICES.items():
            change[f"{layer}.{matrix}.A"] = torch.randn(TRAINED_RANK, columns, generator=random) / columns**0.5
            change[f"{layer}.{matrix}.B"] = torch.zeros(rows, TRAINED_RANK)
    return change


def adapter_change(path):
    """The changes in an adapter that export.py wrote."""
    tensors, change = load_file(path), {}
    for layer in range(LAYERS):
        for matrix in MATRICES:
            of = lambda part: torch.tensor(tensors[f"encoder.layer.{layer}.{matrix}.weight.{part}"]).float()
            root = of("scales").sqrt()
            change[f"{layer}.{matrix}.A"] = of("lora_A") * root[:, None]
            change[f"{layer}.{matrix}.B"] = of("lora_B") * root
    return change


def read_change(path):
    """The changes in an adapter (.safetensors), or in an output of train.py (.npz)."""
    if path.endswith(".npz"):
        return {name: torch.tensor(values) for name, values in np.load(path).items()}
    return adapter_change(path)


def fold(weights, change):
    """The weights, with B·A added to each matrix."""
    folded = dict(weights)
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}.weight"
            folded[name] = folded[name] + change[f"{layer}.{matrix}.B"].detach() @ change[f"{layer}.{matrix}.A"].detach()
    return folded


def tokenize(tokenizer, text, tokens):
    """The token ids of a text, cut to `tokens`."""
    found = tokenizer.encode(text).ids
    return found if len(found) <= tokens else found[: tokens - 1] + [SEPARATOR]


class Packed:
    """Positions of the tokens of a batch. Linear layers get all tokens one after the other; attention gets texts padded to the longest."""

    def __init__(self, lengths):
        lengths = torch.tensor(lengths)
        self.texts, self.longest = len(lengths), int(lengths.max())
        used = torch.arange(self.longest)[None, :] < lengths[:, None]
        self.at = used.flatten().nonzero()[:, 0]
        self.text, self.position = self.at // self.longest, self.at % self.longest
        self.ignored, self.lengths = ~used[:, None, None, :], lengths

    def heads(self, x):
        padded = x.new_zeros(self.texts * self.longest, DIMENSIONS).index_copy(0, self.at, x)
        return padded.view(self.texts, self.longest, HEADS, DIMENSIONS // HEADS).transpose(1, 2)

    def unpad(self, x):
        return x.transpose(1, 2).reshape(-1, DIMENSIONS)[self.at]

    def mean(self, x):
        sums = x.new_zeros(self.texts, DIMENSIONS).index_add(0, self.text, x)
        return functional.normalize(sums / self.lengths[:, None], dim=-1)


class Encoder:
    """The layers. Applying `change` here has the effect of `fold`, but its gradient needs no product of the size of a whole matrix."""

    def __init__(self, weights):
        self.weights = weights
        self.fast = {k: v.to(FAST) for k, v in weights.items() if k.startswith("encoder") and "LayerNorm" not in k}

    def linear(self, x, name, change=None):
        at, x = f"encoder.layer.{name}", x.to(FAST)
        y = functional.linear(x, self.fast[f"{at}.weight"], self.fast[f"{at}.bias"])
        if change is None:
            return y
        return y + functional.linear(functional.linear(x, change[f"{name}.A"].to(FAST)), change[f"{name}.B"].to(FAST))

    def norm(self, x, name):
        weight, bias = self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"]
        return functional.layer_norm(x, (DIMENSIONS,), weight, bias, 1e-12)

    def embed(self, ids, places):
        words = self.weights["embeddings.word_embeddings.weight"][torch.tensor([one for text in ids for one in text])]
        positions = self.weights["embeddings.position_embeddings.weight"][places.position]
        return self.norm(words + positions + self.weights["embeddings.token_type_embeddings.weight"][0], "embeddings")

    def layers(self, x, places, first, last, change=None):
        """Applies layers `first` to `last - 1` to the hidden states `x`: (tokens of all texts, 384)."""
        for layer in range(first, last):
            linear = lambda t, name: self.linear(t, f"{layer}.{name}", change)
            q, k, v = [places.heads(linear(x, f"attention.self.{name}")) for name in ("query", "key", "value")]
            scores = (q @ k.transpose(2, 3) * (DIMENSIONS // HEADS) ** -0.5).masked_fill(places.ignored, -1e9)
            mixed = places.unpad(torch.softmax(scores, -1) @ v)
            x = self.norm(x + linear(mixed, "attention.output.dense"), f"encoder.layer.{layer}.attention.output")
            inner = functional.gelu(linear(x, "intermediate.dense"))
            x = self.norm(x + linear(inner, "output.dense"), f"encoder.layer.{layer}.output")
        return x

    @torch.no_grad()
    def encode_all(self, tokenizer, texts, tokens, size=128):
        """Vectors of texts, in batches of texts with similar lengths."""
        ids = [tokenize(tokenizer, text, tokens) for text in texts]
        order, vectors = np.argsort([len(one) for one in ids], kind="stable"), np.zeros((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(texts), size):
            at = order[start : start + size]
            places = Packed([len(ids[i]) for i in at])
            x = self.embed([ids[i] for i in at], places)
            vectors[at] = places.mean(self.layers(x, places, 0, LAYERS)).numpy()
        return vectors

    def document_vectors(self, tokenizer, tools):
        """Vectors of tools as the product computes them: of the full text, plus .3 of that of the name."""
        full = self.encode_all(tokenizer, [tool["full"] for tool in tools], FULL_TOKENS)
        mixed = full + 0.3 * self.encode_all(tokenizer, [tool["name"] for tool in tools], NAME_TOKENS)
        return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
