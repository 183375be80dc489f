# One image with the four programs, the libraries that they need, and little else.
# Build: docker build -t sortition .
ARG BASE=debian:12.11

FROM ${BASE} AS build
WORKDIR /src
# Programs that lie in the folder programs/ of the context are taken as they are; others are stripped.
COPY tools/packages.txt program[s]/sortition* /given/
RUN [ -e /given/sortition-server ] || { apt-get update && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends $(awk '$1 == "build" { print $2 }' /given/packages.txt) && \
      rm -rf /var/lib/apt/lists/*; }
COPY . .
# RUN_TESTS=1 builds and runs the tests first.
ARG RUN_TESTS=0
RUN if [ -e /given/sortition-server ]; then \
      install -D -t build/release/bin /given/sortition*; \
    else \
      if [ "$RUN_TESTS" = 1 ]; then ./dev test; fi && ./dev build release && strip build/release/bin/sortition*; \
    fi

FROM ${BASE} AS root
COPY tools/packages.txt /tmp/
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(awk '$1 == "runtime" || $1 == "image" { print $2 }' /tmp/packages.txt) && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/bin/sortition* /tmp/programs/
COPY deploy/container LICENSE NOTICE /tmp/container/
RUN /tmp/container/make_root.sh /tmp/container /tmp/programs /root-of-image

FROM scratch
COPY --from=root /root-of-image/ /
USER 10001:10001
WORKDIR /var/lib/sortition
VOLUME /var/lib/sortition
EXPOSE 8500 8501 8502 8503 8504
# Finds out what runs: server, sidecar or trainer.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/usr/local/bin/sortition-health"]
# Pid 1 forwards signals, and buries what its children leave.
ENTRYPOINT ["/sbin/tini", "--"]
# On the loopback interface of the container, because it answers everybody: with other options it
# needs certificates and tokens, or a network that keeps others away (docs/packages.md).
CMD ["sortition-server", "--model_store=/var/lib/sortition/models", "--spool.dir=/var/lib/sortition/spool"]
