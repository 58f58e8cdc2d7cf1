"""Trains low-rank changes of the sentence encoder's layers on queries for tools. README.md says how to run it."""
import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from minilm import FULL_TOKENS, LAYERS, QUERY_TOKENS, Encoder, Packed, fold, load, no_change, read_change, tokenize

# Queries in a step, each with the text of its tool.
BATCH = 40
# Further texts in a step, as negatives only: of tools that are among the NEAREST ones of the step's tools.
EXTRA_TEXTS, NEAREST = 16, 8
# Most queries are shorter. Longer ones are cut. Texts are cut as the product cuts them.
TRAINED_QUERY_TOKENS, TRAINED_TEXT_TOKENS = 32, FULL_TOKENS
# A step has queries for this number of tools of each server, so that each tool is a negative for the queries of its siblings.
GROUP = 4
TEMPERATURE = 0.05
# Tools of different servers with a greater cosine count as equal: neither is a negative for queries of the other.
DUPLICATE_COSINE = 0.8
# The learning rate rises in the first steps, stays, and falls in the last ones (--decay).
WARMUP_STEPS = 40
REPORT_STEPS, SAVE_STEPS = 20, 60


def read_tools(path, folder):
    """The tools to train on, and those of the invented servers that are held out."""
    held_out = json.loads((folder / "held-out.json").read_text())
    tools = [json.loads(line) for line in Path(path).read_text().splitlines()]
    is_held_out = lambda tool: tool["server"] in held_out[tool["kind"]]
    trained = [tool for tool in tools if not is_held_out(tool)]
    return trained, [tool for tool in tools if is_held_out(tool) and tool["kind"] == "invented"]


class Batches:
    """Queries in random order, each together with queries for other tools of its server. A step has at most one query for each tool."""

    def __init__(self, tools, similarity, seed, public_times):
        self.tools, self.random = tools, random.Random(seed)
        times = {"public": public_times, "invented": 1}
        self.pairs = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"] * times[tool["kind"]]]
        self.siblings, self.order = {}, []
        for at, tool in enumerate(tools):
            self.siblings.setdefault(self.server(at), []).append(at)
        numbers = {server: number for number, server in enumerate(self.siblings)}
        server = np.array([numbers[self.server(at)] for at in range(len(tools))])
        self.same = (similarity > DUPLICATE_COSINE) & (server[:, None] != server[None, :])
        np.fill_diagonal(self.same, True)
        self.nearest = np.argsort(-np.where(self.same, -1, similarity), axis=1)[:, :NEAREST]

    def server(self, at):
        return self.tools[at]["kind"], self.tools[at]["server"]

    def group(self):
        """The next query with its tool, and queries for other tools of the same server."""
        if not self.order:
            self.order = self.random.sample(range(len(self.pairs)), len(self.pairs))
        query, at = self.pairs[self.order.pop()]
        siblings = [i for i in self.siblings[self.server(at)] if i != at]
        others = self.random.sample(siblings, min(GROUP - 1, len(siblings)))
        return [(at, query)] + [(i, self.random.choice(self.tools[i]["queries"])) for i in others]

    def next(self):
        """A step: its queries; the numbers of its tools, beginning with that of each query; and which tools count as equal to which query's tool."""
        picked = {}
        while len(picked) < BATCH:
            for at, query in self.group():
                if len(picked) < BATCH:
                    picked.setdefault(at, query)
        own = list(picked)
        which = own + [int(self.random.choice(list(self.nearest[at]))) for at in self.random.sample(own, EXTRA_TEXTS)]
        return list(picked.values()), which, self.same[np.ix_(own, which)]


class Model:
    """Queries and texts as vectors, with a gradient for the changes of the layers that are trained."""

    def __init__(self, weights, tokenizer, change, frozen):
        self.tokenizer, self.change, self.frozen, self.states = tokenizer, change, frozen, {}
        kept = {name: value if int(name[0]) < frozen else torch.zeros_like(value) for name, value in change.items()}
        self.encoder = Encoder(fold(weights, kept))

    @torch.no_grad()
    def below(self, ids):
        """The hidden states after the frozen layers."""
        places = Packed([len(one) for one in ids])
        x = self.encoder.layers(self.encoder.embed(ids, places), places, 0, self.frozen)
        return [own.to(torch.float16) for own in x.split([len(one) for one in ids])]

    def texts(self, tools, which):
        """Vectors of tools' texts. Their states after the frozen layers are kept, since texts are used many times (queries are not)."""
        missing = [at for at in dict.fromkeys(which) if at not in self.states]
        if missing:
            ids = [tokenize(self.tokenizer, tools[at]["full"], TRAINED_TEXT_TOKENS) for at in missing]
            self.states.update(zip(missing, self.below(ids)))
        return self.above([self.states[at] for at in which])

    def queries(self, queries):
        return self.above(self.below([tokenize(self.tokenizer, query, TRAINED_QUERY_TOKENS) for query in queries]))

    def above(self, states):
        places = Packed([len(one) for one in states])
        return places.mean(self.encoder.layers(torch.cat(states).float(), places, self.frozen, LAYERS, self.change))


def loss(queries, texts, same):
    """Cross-entropy of each query's own text in a softmax over all texts of the step, without those that count as equal."""
    own, same = torch.arange(BATCH), torch.tensor(same)
    same[own, own] = False
    return functional.cross_entropy((queries @ texts.T / TEMPERATURE).masked_fill(same, -1e9), own)


def recall(encoder, tokenizer, tools):
    """Recall@5 by cosine alone: the share of queries whose tool is among the first five."""
    documents = encoder.document_vectors(tokenizer, tools)
    asked = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"]]
    vectors = encoder.encode_all(tokenizer, [query for query, _ in asked], QUERY_TOKENS)
    found = np.argsort(-(vectors @ documents.T), axis=1)[:, :5]
    return float(np.mean([at in first for (_, at), first in zip(asked, found)]))


def read_options():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", help="output of texts.ts")
    options.add_argument("model", help="folder with model.safetensors and vocab.txt as published")
    options.add_argument("out", help="file for the changes (.npz); the number of the step is inserted before the ending")
    options.add_argument("--steps", type=int, default=800)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--decay", type=int, default=350, help="number of steps at the end in which the learning rate falls; 0: it stays")
    options.add_argument("--start", help="an adapter, or the .npz of another run, to continue training from; without it, training starts from the published weights")
    options.add_argument("--public", type=int, default=4, help="how often each query for a public tool is used: there are far fewer of them than for invented tools, whose texts are plainer")
    options.add_argument("--frozen", type=int, default=0, help="number of layers, counted from the first, that are not trained, which makes steps faster")
    return options.parse_args()


def rate_at(step, given):
    fall = (given.steps + 1 - step) / given.decay if given.decay else 1
    return given.rate * min(1, step / WARMUP_STEPS, fall)


def main():
    given = read_options()
    torch.manual_seed(given.seed)
    weights, tokenizer = load(given.model)
    change = read_change(given.start) if given.start else no_change(given.seed)
    tools, held_out = read_tools(given.texts, Path(__file__).parent / "data")
    start = Encoder(fold(weights, change))
    vectors = start.encode_all(tokenizer, [tool["full"] for tool in tools], TRAINED_TEXT_TOKENS)
    batches = Batches(tools, vectors @ vectors.T, given.seed, given.public)
    print(f"{len(tools)} tools, {len(batches.pairs)} queries; {len(held_out)} tools of servers held out: R@5 {recall(start, tokenizer, held_out):.3f}", flush=True)
    model = Model(weights, tokenizer, change, given.frozen)
    trained = [value.requires_grad_() for name, value in change.items() if int(name[0]) >= given.frozen]
    optimizer = torch.optim.AdamW(trained, lr=given.rate, weight_decay=0.01)
    began, losses = time.monotonic(), []
    for n in range(1, given.steps + 1):
        optimizer.param_groups[0]["lr"] = rate_at(n, given)
        queries, which, same = batches.next()
        value = loss(model.queries(queries), model.texts(tools, which), same)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(float(value.detach()))
        if n % REPORT_STEPS == 0:
            print(f"step {n}: loss {np.mean(losses[-REPORT_STEPS:]):.3f}, {time.monotonic() - began:.0f} s, {time.process_time():.0f} s of CPU", flush=True)
        if n % SAVE_STEPS == 0 or n == given.steps:
            np.savez(f"{given.out.removesuffix('.npz')}.{n}.npz", **{name: own.detach().numpy() for name, own in change.items()})
            print(f"held out: R@5 {recall(Encoder(fold(weights, change)), tokenizer, held_out):.3f}", flush=True)


main()
