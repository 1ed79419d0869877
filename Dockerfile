# The image of the worker: `make image`, and docs/image.md.

# An image with Go, Git, curl and the tools of Debian, by digest. It has no
# default: whose registry and which version is up to who builds. Nothing of it
# gets into the final image but tini and the certificate authorities.
ARG BUILDER

FROM ${BUILDER} AS build
WORKDIR /src
# Where modules come from and who vouches for them; unset is Go's default. Either
# way they are those of go.sum.
ARG GOPROXY
ARG GOSUMDB

FROM build AS cli
COPY image/compile.sh image/
COPY tools/pulumi/go.mod tools/pulumi/go.sum tools/pulumi/
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    image/compile.sh /out pulumi

FROM build AS plugins
# The SHA-256 of the tarball of the plugin, which is that of the version in
# go.mod.
ARG PLUGIN_SHA256
# Older versions that stacks may still need: "6.82.0=SHA256 6.81.0=SHA256".
ARG OLD_PLUGINS
ARG PLUGIN_URL=https://github.com/pulumi/pulumi-aws/releases/download
COPY image/plugin.sh image/
COPY go.mod ./
RUN image/plugin.sh /out

FROM build AS root
COPY image/base.sh image/
RUN image/base.sh /rootfs
# All of it, with .git: Go takes the version from there.
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    image/compile.sh /rootfs/usr/bin worker enqueue
COPY --from=cli /out/ /rootfs/usr/bin/
COPY --from=plugins /out/ /rootfs/usr/lib/lessor/plugins/
ARG REVISION
ARG SOURCE_DATE_EPOCH
RUN image/finish.sh /rootfs

FROM scratch
COPY --from=root /rootfs/ /
ENV PATH=/usr/bin \
    HOME=/var/lib/lessor \
    LESSOR_PULUMI=/usr/bin/pulumi \
    LESSOR_PLUGIN_DIR=/usr/lib/lessor/plugins \
    LESSOR_WORK_DIR=/var/lib/lessor
# Everything else may be read-only.
VOLUME ["/var/lib/lessor", "/tmp"]
WORKDIR /var/lib/lessor
USER 65532:65532
EXPOSE 9090
# The CLI leaves plugins behind when it is killed: the worker adopts and reaps
# those of its operations, tini the rest. Without -g, since a signal to the whole
# group would interrupt what a drain lets finish.
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/bin/worker"]
# No HEALTHCHECK: Kubernetes asks /healthz and /readyz.

ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="lessor" \
      org.opencontainers.image.description="Workers that give every tenant its own Pulumi stack" \
      org.opencontainers.image.source="https://github.com/lessor-dev/lessor" \
      org.opencontainers.image.documentation="https://github.com/lessor-dev/lessor/blob/main/docs/image.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
