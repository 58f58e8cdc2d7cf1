"""Trains low-rank changes of the sentence encoder's layers on queries for tools. README.md beside it says how to run it."""
import argparse
import json
import random
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from minilm import document_vectors, encode, encode_all, fold, load, no_change, tokenize, QUERY_TOKENS

# Queries in a step, each with the text of its tool and of another one; most texts are shorter than these numbers of tokens.
BATCH, QUERY, TEXT = 32, 24, 48
TEMPERATURE = 0.05
# The other text is of the same server with this probability, else one of the nearest of all servers.
SIBLINGS, NEAREST = 0.6, 8
REPORT_STEPS = 50


def read_tools(path, folder):
    """The tools to train on, and those of servers that are held out."""
    held = json.loads((folder / "held-out.json").read_text())
    tools = [json.loads(line) for line in Path(path).read_text().splitlines()]
    is_held = lambda tool: tool["server"] in held[tool["kind"]]
    return [tool for tool in tools if not is_held(tool)], [tool for tool in tools if is_held(tool) and tool["kind"] == "invented"]


def loss(change, weights, queries, texts, which):
    """Softmax of each query over all texts of the step; other texts of the same tool do not count."""
    folded = fold(weights, change)
    scores = encode(folded, *queries) @ encode(folded, *texts).T / TEMPERATURE
    own = jnp.arange(BATCH)
    same = (which[None, :] == which[:BATCH][:, None]) & (jnp.arange(len(which))[None, :] != own[:, None])
    return -jax.nn.log_softmax(jnp.where(same, -1e9, scores), -1)[own, own].mean()


class Batches:
    """Queries in random order, without two of one tool in a step."""

    def __init__(self, tools, nearest, seed):
        self.tools, self.nearest, self.random = tools, nearest, random.Random(seed)
        self.pairs = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"]]
        self.siblings, self.order = {}, []
        for at, tool in enumerate(tools):
            self.siblings.setdefault((tool["kind"], tool["server"]), []).append(at)

    def other(self, at):
        siblings = [i for i in self.siblings[(self.tools[at]["kind"], self.tools[at]["server"])] if i != at]
        if siblings and self.random.random() < SIBLINGS:
            return self.random.choice(siblings)
        return int(self.random.choice(list(self.nearest[at])))

    def next(self):
        if len(self.order) < 4 * BATCH:
            self.order = self.random.sample(range(len(self.pairs)), len(self.pairs))
        picked = {}
        while len(picked) < BATCH:
            query, at = self.pairs[self.order.pop()]
            picked.setdefault(at, query)
        which = list(picked) + [self.other(at) for at in picked]
        return list(picked.values()), which


def recall(weights, tokenizer, tools):
    """Share of queries whose tool is among the first five, by cosine alone."""
    documents = document_vectors(weights, tokenizer, tools)
    asked = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"]]
    vectors = encode_all(weights, tokenizer, [query for query, _ in asked], QUERY_TOKENS)
    found = np.argsort(-(vectors @ documents.T), axis=1)[:, :5]
    return float(np.mean([at in first for (_, at), first in zip(asked, found)]))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", help="output of texts.ts")
    options.add_argument("model", help="folder with model.safetensors and vocab.txt as published")
    options.add_argument("out", help="file for the changes (.npz)")
    options.add_argument("--steps", type=int, default=1_600)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    weights, tokenizer = load(given.model)
    tools, held = read_tools(given.texts, Path(__file__).parent / "data")
    vectors = document_vectors(weights, tokenizer, tools)
    close = vectors @ vectors.T
    np.fill_diagonal(close, -1)
    batches = Batches(tools, np.argsort(-close, axis=1)[:, :NEAREST], given.seed)
    print(f"{len(tools)} tools, {len(batches.pairs)} queries; {len(held)} tools of servers held out: R@5 {recall(weights, tokenizer, held):.3f}", flush=True)
    schedule = optax.warmup_cosine_decay_schedule(0, given.rate, given.steps // 10, given.steps, given.rate * 0.05)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
    change = no_change(jax.random.PRNGKey(given.seed))
    state = optimizer.init(change)

    @jax.jit
    def step(change, state, queries, texts, which):
        value, gradient = jax.value_and_grad(loss)(change, weights, queries, texts, which)
        update, state = optimizer.update(gradient, state, change)
        return optax.apply_updates(change, update), state, value

    began, losses = time.monotonic(), []
    for n in range(1, given.steps + 1):
        queries, which = batches.next()
        texts = [tools[at]["full"] for at in which]
        given_texts = tokenize(tokenizer, queries, QUERY), tokenize(tokenizer, texts, TEXT)
        change, state, value = step(change, state, *given_texts, np.array(which))
        losses.append(float(value))
        if n % REPORT_STEPS == 0:
            print(f"step {n}: loss {np.mean(losses[-REPORT_STEPS:]):.3f}, {time.monotonic() - began:.0f} s", flush=True)
        if n % (6 * REPORT_STEPS) == 0 or n == given.steps:
            np.savez(given.out, **{name: np.asarray(value) for name, value in change.items()})
            print(f"held out: R@5 {recall(fold(weights, change), tokenizer, held):.3f}", flush=True)


main()
