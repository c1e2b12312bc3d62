# The image: Debian's Python, the libraries of release/image/requirements.txt, the code.
# tests/cluster packs the same with the same scripts, without a container engine; tests/project/test_image.py keeps both in
# step. docs/how-to/release.md builds it for a release, docs/explanation/image.md gives the reasons.

# The tag is for trying things out. A release names Debian 13 by its digest, --build-arg BASE=debian@sha256:…, and a build
# with a VERSION fails without one.
ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-pip
WORKDIR /src
COPY release/image release/image
RUN release/image/libraries.sh python3 /opt/gpushare-webhook && release/image/bytecode.sh python3 /opt/gpushare-webhook /opt/gpushare-webhook
COPY webhook /opt/gpushare-webhook/webhook
RUN release/image/bytecode.sh python3 /opt/gpushare-webhook/webhook /opt/gpushare-webhook/webhook
# Last, so that another version reuses the layers.
ARG BASE
ARG VERSION=""
RUN release/image/base.sh "${BASE}" "${VERSION}"

FROM ${BASE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/gpushare-webhook /opt/gpushare-webhook
COPY LICENSE /opt/gpushare-webhook/LICENSE
ENV PYTHONPATH=/opt/gpushare-webhook PYTHONDONTWRITEBYTECODE=1
USER 65532
ENTRYPOINT ["/usr/bin/python3", "-m", "webhook"]

# Last, so that another revision reuses the layers. The repository does not know these values.
ARG BASE
ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
ARG SOURCE=""
LABEL org.opencontainers.image.title="gpushare-webhook" \
      org.opencontainers.image.description="Admission webhook and manifest check for pods that share NVIDIA GPUs through MPS" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
