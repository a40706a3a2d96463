# The manager's image. `make ko-build` makes the same without an engine.
ARG GO_VERSION=1.26

# Compiled on the builder's own platform, for whichever is asked for.
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS builder

WORKDIR /workspace

# The modules first: they change less often than the sources.
COPY go.mod go.sum ./
RUN go mod download

COPY *.go ./
COPY api/ api/
COPY internal/ internal/

# Of the platform that is built for. A default here would win over it.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev

# Static, and the same bytes wherever it is built.
ENV CGO_ENABLED=0
RUN GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
  -ldflags "-s -w -X main.version=${VERSION}" -o /out/wavefront-controller .

# There is nothing to patch in an empty base.
FROM scratch

ARG VERSION=dev
LABEL org.opencontainers.image.title="wavefront-controller" \
  org.opencontainers.image.source="https://github.com/isometry/wavefront-controller" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}"

COPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=builder /out/wavefront-controller /usr/local/bin/wavefront-controller

ENV PATH=/usr/local/bin
USER 65534:65534
ENTRYPOINT ["/usr/local/bin/wavefront-controller"]
