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
# A private package index and its certificate authority are secrets of the build; docs/how-to/release.md, step 3.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf --mount=type=secret,id=ca.pem,target=/run/secrets/ca.pem \
    release/image/libraries.sh python3 /opt/gpushare-webhook && release/image/bytecode.sh python3 /opt/gpushare-webhook /opt/gpushare-webhook
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

# Last, so that another base reuses the layers. A release adds version, revision, time and source by --label: the
# repository does not know them, and an argument without a value would leave an empty label.
ARG BASE
LABEL org.opencontainers.image.title="gpushare-webhook" \
      org.opencontainers.image.description="Admission webhook and manifest check for pods that share NVIDIA GPUs through MPS" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}"
