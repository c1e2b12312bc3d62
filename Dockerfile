# The image: Debian's Python, the libraries that pyproject.toml names in the versions of constraints.txt, the code.
# tests/cluster packs the same without an engine; tests/project/test_image.py keeps the two alike.

FROM debian:bookworm-slim AS libraries
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-pip
WORKDIR /src
COPY pyproject.toml constraints.txt ./
RUN python3 -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]))' > needed.txt \
 && python3 -m pip install --no-compile --only-binary=:all: --target=/opt/gpushare-webhook --constraint=constraints.txt --requirement=needed.txt

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=libraries /opt/gpushare-webhook /opt/gpushare-webhook
COPY webhook /opt/gpushare-webhook/webhook
ENV PYTHONPATH=/opt/gpushare-webhook PYTHONDONTWRITEBYTECODE=1
USER 65532
ENTRYPOINT ["/usr/bin/python3", "-m", "webhook"]
