"""all-MiniLM-L6-v2 in jax: its forward pass, with low-rank changes of its layers."""
import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file
from tokenizers import BertWordPieceTokenizer

DIMENSIONS, LAYERS, HEADS = 384, 6, 12
RANK = 16
# The matrices of a layer that are changed: rows and columns as published.
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


def load(folder):
    """The published weights as float32, and the tokenizer of their vocabulary."""
    weights = load_file(f"{folder}/model.safetensors")
    used = {k: jnp.asarray(v, jnp.float32) for k, v in weights.items() if not k.startswith("pooler") and "position_ids" not in k}
    return used, BertWordPieceTokenizer(f"{folder}/vocab.txt", lowercase=True)


def no_change(key):
    """Low-rank changes that do not change anything yet: a product of A (random) and B (zero) for each matrix."""
    change = {}
    for layer in range(LAYERS):
        for matrix, (rows, columns) in MATRICES.items():
            key, own = jax.random.split(key)
            change[f"{layer}.{matrix}.A"] = jax.random.normal(own, (RANK, columns)) / np.sqrt(columns)
            change[f"{layer}.{matrix}.B"] = jnp.zeros((rows, RANK))
    return change


def fold(weights, change):
    """The weights with B·A of each matrix added."""
    folded = dict(weights)
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}.weight"
            folded[name] = folded[name] + change[f"{layer}.{matrix}.B"] @ change[f"{layer}.{matrix}.A"]
    return folded


def normalize(x, weights, name):
    centered = x - x.mean(-1, keepdims=True)
    variance = (centered**2).mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(variance + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def encode(weights, ids, mask):
    """ids, mask: (texts, tokens). Returns unit vectors (texts, 384): the mean of the last states."""
    texts, tokens = ids.shape
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][:tokens] + weights["embeddings.token_type_embeddings.weight"][0]
    x = normalize(x, weights, "embeddings.LayerNorm")
    ignored = (1 - mask)[:, None, None, :] * -1e9
    split = lambda t: t.reshape(texts, tokens, HEADS, DIMENSIONS // HEADS).transpose(0, 2, 1, 3)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        linear = lambda t, name: t @ weights[f"{at}.{name}.weight"].T + weights[f"{at}.{name}.bias"]
        q, k, v = [split(linear(x, f"attention.self.{name}")) for name in ("query", "key", "value")]
        attention = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(DIMENSIONS // HEADS) + ignored, -1) @ v
        attention = attention.transpose(0, 2, 1, 3).reshape(texts, tokens, DIMENSIONS)
        x = normalize(x + linear(attention, "attention.output.dense"), weights, f"{at}.attention.output.LayerNorm")
        inner = jax.nn.gelu(linear(x, "intermediate.dense"), approximate=False)
        x = normalize(x + linear(inner, "output.dense"), weights, f"{at}.output.LayerNorm")
    mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)


def tokenize(tokenizer, texts, tokens):
    """ids and mask of texts that are cut to `tokens`."""
    ids, mask = np.zeros((len(texts), tokens), np.int32), np.zeros((len(texts), tokens), np.float32)
    for row, text in enumerate(texts):
        found = tokenizer.encode(text).ids
        if len(found) > tokens:
            found = found[: tokens - 1] + [SEPARATOR]
        ids[row, : len(found)], mask[row, : len(found)] = found, 1
    return ids, mask


_encode = jax.jit(encode)


def encode_all(weights, tokenizer, texts, tokens, size=64):
    """Vectors of texts, in batches of texts of like length."""
    order, vectors = np.argsort([len(text) for text in texts]), np.zeros((len(texts), DIMENSIONS), np.float32)
    for start in range(0, len(texts), size):
        at = order[start : start + size]
        ids, mask = tokenize(tokenizer, [texts[i] for i in at] + [""] * (size - len(at)), tokens)
        longest = min(tokens, 16 * int(np.ceil(mask.sum(1).max() / 16)))
        vectors[at] = np.asarray(_encode(weights, ids[:, :longest], mask[:, :longest]))[: len(at)]
    return vectors


def document_vectors(weights, tokenizer, tools):
    """As the product makes them: the full text, and .3 of the name."""
    full = encode_all(weights, tokenizer, [tool["full"] for tool in tools], FULL_TOKENS)
    mixed = full + 0.3 * encode_all(weights, tokenizer, [tool["name"] for tool in tools], NAME_TOKENS)
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
