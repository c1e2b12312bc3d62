# The image: Debian's Python, the libraries that pyproject.toml names in the versions of constraints.txt, the code.
# tests/cluster packs the same with the same scripts, without a container engine; tests/project/test_image.py keeps both in
# step.

FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-pip
WORKDIR /src
COPY pyproject.toml constraints.txt ./
COPY image image
RUN image/libraries.sh python3 /opt/gpushare-webhook && image/bytecode.sh python3 /opt/gpushare-webhook /opt/gpushare-webhook
COPY webhook /opt/gpushare-webhook/webhook
RUN image/bytecode.sh python3 /opt/gpushare-webhook/webhook /opt/gpushare-webhook/webhook

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/gpushare-webhook /opt/gpushare-webhook
ENV PYTHONPATH=/opt/gpushare-webhook PYTHONDONTWRITEBYTECODE=1
USER 65532
ENTRYPOINT ["/usr/bin/python3", "-m", "webhook"]
