# A container with a software RDMA device on its network: no privileges, no kernel module, no volume.
# Build it beside Verbatim's packages (`make deb`):
#
#	docker build -f wire.Dockerfile -t verbatim-wire build/deb
FROM debian:bookworm-slim
COPY *.deb /tmp/
RUN apt-get update && \
    apt-get install -y --no-install-recommends /tmp/*.deb ibverbs-utils rdmacm-utils perftest && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/*
