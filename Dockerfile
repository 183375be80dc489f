# One image with the four binaries. Build: docker build -t sortition .
ARG BASE=debian:bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY tools/packages.txt tools/packages.txt
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(awk '$1 == "build" { print $2 }' tools/packages.txt) && rm -rf /var/lib/apt/lists/*
COPY . .
# RUN_TESTS=1 builds and runs every test first.
ARG RUN_TESTS=0
RUN if [ "$RUN_TESTS" = 1 ]; then ./dev test; fi && ./dev build release

FROM ${BASE}
COPY tools/packages.txt /tmp/packages.txt
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(awk '$1 == "runtime" { print $2 }' /tmp/packages.txt) && rm -rf /var/lib/apt/lists/* /tmp/packages.txt \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/sortition sortition \
    && install -d -o sortition -g sortition /var/lib/sortition/models /var/lib/sortition/spool \
         /var/lib/sortition/mirror \
         /var/lib/sortition/tuples
COPY --from=build /src/build/release/bin/sortition* /usr/local/bin/
USER 10001
VOLUME /var/lib/sortition
EXPOSE 8500 8501 8502 8503 8504
HEALTHCHECK --interval=10s --timeout=3s CMD sortition models list --deadline_seconds=2 >/dev/null || exit 1
CMD ["sortition-server", "--listen=0.0.0.0:8500", "--metrics_listen=0.0.0.0:8501", \
     "--http.listen=0.0.0.0:8503", \
     "--model_store=/var/lib/sortition/models", "--spool.dir=/var/lib/sortition/spool"]
