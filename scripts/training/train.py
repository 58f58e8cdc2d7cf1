"""Trains low-rank changes of the sentence encoder's layers on queries for tools. README.md beside it says how to run it."""
import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from minilm import LAYERS, QUERY_TOKENS, Encoder, Packed, adapter_change, fold, load, no_change, tokenize

# Queries in a step, each with the text of its tool; so many more texts that none of them asks for. Most texts are shorter than these numbers of tokens.
BATCH, OTHERS, QUERY, TEXT = 40, 16, 24, 48
# Queries for so many tools of one server stand in a step together: each is told apart from what the others ask for.
GROUP = 4
TEMPERATURE = 0.05
# The other texts are of the nearest tools of all servers.
NEAREST = 8
# Tools of two servers with a higher cosine do the same: none is wrong for a query for the other.
SAME = 0.8
# The rate rises in the first steps, stays, and falls in the last.
WARM, DECAY = 50, 200
REPORT_STEPS, SAVE_STEPS = 20, 60


def read_tools(path, folder):
    """The tools to train on, and those of servers that are held out."""
    held = json.loads((folder / "held-out.json").read_text())
    tools = [json.loads(line) for line in Path(path).read_text().splitlines()]
    is_held = lambda tool: tool["server"] in held[tool["kind"]]
    return [tool for tool in tools if not is_held(tool)], [tool for tool in tools if is_held(tool) and tool["kind"] == "invented"]


class Batches:
    """Queries in random order, each with some for other tools of its server, without two of one tool in a step."""

    def __init__(self, tools, close, seed):
        self.tools, self.random = tools, random.Random(seed)
        self.pairs = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"]]
        self.siblings, self.order = {}, []
        for at, tool in enumerate(tools):
            self.siblings.setdefault(self.server(at), []).append(at)
        numbers = {server: number for number, server in enumerate(self.siblings)}
        server = np.array([numbers[self.server(at)] for at in range(len(tools))])
        self.same = (close > SAME) & (server[:, None] != server[None, :])
        np.fill_diagonal(self.same, True)
        self.nearest = np.argsort(-np.where(self.same, -1, close), axis=1)[:, :NEAREST]

    def server(self, at):
        return self.tools[at]["kind"], self.tools[at]["server"]

    def group(self):
        """A query, and some for siblings of its tool."""
        if not self.order:
            self.order = self.random.sample(range(len(self.pairs)), len(self.pairs))
        query, at = self.pairs[self.order.pop()]
        siblings = [i for i in self.siblings[self.server(at)] if i != at]
        others = self.random.sample(siblings, min(GROUP - 1, len(siblings)))
        return [(at, query)] + [(i, self.random.choice(self.tools[i]["queries"])) for i in others]

    def next(self):
        """The queries of a step; the numbers of its tools, first that of each query; which of them are not wrong for which query."""
        picked = {}
        while len(picked) < BATCH:
            for at, query in self.group():
                if len(picked) < BATCH:
                    picked.setdefault(at, query)
        own = list(picked)
        which = own + [int(self.random.choice(list(self.nearest[at]))) for at in self.random.sample(own, OTHERS)]
        return list(picked.values()), which, self.same[np.ix_(own, which)]


class Model:
    """Queries and texts as vectors, with a gradient for the changes of the layers that are trained."""

    def __init__(self, weights, tokenizer, change, frozen):
        self.tokenizer, self.change, self.frozen, self.states = tokenizer, change, frozen, {}
        kept = {name: value if int(name[0]) < frozen else torch.zeros_like(value) for name, value in change.items()}
        self.encoder = Encoder(fold(weights, kept))

    @torch.no_grad()
    def below(self, ids):
        """The states below the layers that are trained."""
        places = Packed([len(one) for one in ids])
        x = self.encoder.layers(self.encoder.embed(ids, places), places, 0, self.frozen)
        return [own.to(torch.float16) for own in x.split([len(one) for one in ids])]

    def texts(self, tools, which):
        """Their states below are kept: texts come again, queries seldom do."""
        missing = [at for at in dict.fromkeys(which) if at not in self.states]
        if missing:
            ids = [tokenize(self.tokenizer, tools[at]["full"], TEXT) for at in missing]
            self.states.update(zip(missing, self.below(ids)))
        return self.above([self.states[at] for at in which])

    def queries(self, queries):
        return self.above(self.below([tokenize(self.tokenizer, query, QUERY) for query in queries]))

    def above(self, states):
        places = Packed([len(one) for one in states])
        return places.mean(self.encoder.layers(torch.cat(states).float(), places, self.frozen, LAYERS, self.change))


def loss(queries, texts, same):
    """Softmax of each query over all texts of the step; others that do the same do not count."""
    own, same = torch.arange(BATCH), torch.tensor(same)
    same[own, own] = False
    return functional.cross_entropy((queries @ texts.T / TEMPERATURE).masked_fill(same, -1e9), own)


def recall(encoder, tokenizer, tools):
    """Share of queries whose tool is among the first five, by cosine alone."""
    documents = encoder.document_vectors(tokenizer, tools)
    asked = [(query, at) for at, tool in enumerate(tools) for query in tool["queries"]]
    vectors = encoder.encode_all(tokenizer, [query for query, _ in asked], QUERY_TOKENS)
    found = np.argsort(-(vectors @ documents.T), axis=1)[:, :5]
    return float(np.mean([at in first for (_, at), first in zip(asked, found)]))


def read_options():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", help="output of texts.ts")
    options.add_argument("model", help="folder with model.safetensors and vocab.txt as published")
    options.add_argument("out", help="file for the changes (.npz); each time they are saved, the step is put before the ending")
    options.add_argument("--steps", type=int, default=1_600)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--start", help="an adapter to start from, in place of the published weights alone")
    options.add_argument("--frozen", type=int, default=0, help="so many layers, from the lowest, stay as they are: a step takes less time")
    return options.parse_args()


def rate_at(step, given):
    return given.rate * min(1, step / WARM, (given.steps + 1 - step) / DECAY)


def main():
    given = read_options()
    torch.manual_seed(given.seed)
    weights, tokenizer = load(given.model)
    change = adapter_change(given.start) if given.start else no_change(given.seed)
    tools, held = read_tools(given.texts, Path(__file__).parent / "data")
    start = Encoder(fold(weights, change))
    vectors = start.encode_all(tokenizer, [tool["full"] for tool in tools], TEXT)
    close = vectors @ vectors.T
    batches = Batches(tools, close, given.seed)
    print(f"{len(tools)} tools, {len(batches.pairs)} queries; {len(held)} tools of servers held out: R@5 {recall(start, tokenizer, held):.3f}", flush=True)
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
            print(f"held out: R@5 {recall(Encoder(fold(weights, change)), tokenizer, held):.3f}", flush=True)


main()
