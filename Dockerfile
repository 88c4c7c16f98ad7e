# Atlas as an image of one static binary: no shell, no package, no root.
#
#   scripts/build image          builds it as atlas, with its version and labels
#   docker run --rm atlas --help
#
# docker-compose.yml runs it beside its backends.
FROM golang:1.26-bookworm AS source
WORKDIR /src
# By themselves, so that they are fetched again only when they change.
COPY go.mod go.sum ./
COPY client/go.mod client/
COPY third_party third_party
RUN go mod download
COPY . .

# As the program is built below, so that what both have in common is compiled once.
FROM source AS document
RUN ATLAS_EXPLORER=built scripts/build -o /openapi ./service/openapi/print && /openapi >/openapi.json

# The Explorer, the web page that the binary serves.
FROM node:22-bookworm-slim AS explorer
WORKDIR /src
COPY scripts/explorer scripts/explorer
COPY explorer explorer
COPY --from=document /openapi.json explorer/src/api/openapi.json
RUN scripts/explorer

FROM document AS build
COPY --from=explorer /src/explorer/dist explorer/dist
# What atlas version, the OpenAPI document, metrics and traces show.
ARG VERSION=unknown
RUN ATLAS_EXPLORER=built ATLAS_VERSION=${VERSION} scripts/build -o /image/atlas ./cmd/atlas
# A folder for temporary files: atlas index load sorts on disk. Mount something
# large there for that.
RUN mkdir -p --mode=1777 /image/tmp && mkdir -p /image/etc/ssl/certs \
 && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
# The time of the commit, so that the same commit makes the same image.
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Atlas" \
      org.opencontainers.image.description="A search service over accounts, contacts, projects and signals" \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION} \
      org.opencontainers.image.created=${CREATED}
COPY --from=build /image /
# Not root, and by number, so that whoever runs it can see that.
USER 65532:65532
# Work folders of atlas index are below the folder for temporary files: nothing else may
# be writable.
ENV ATLAS_LISTEN=0.0.0.0:8080 XDG_CACHE_HOME=/tmp
EXPOSE 8080
# What a stopping server may take, --drain, is 20 s by default.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/atlas"]
CMD ["serve"]
