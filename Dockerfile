# Polygraph's server, command line, model worker and models in one image, built by the project's own steps.
#
#   docker build -t polygraph .
#   docker run --rm -p 8080:8080 -v polygraph:/var/lib/polygraph polygraph
#   docker run --rm -v polygraph:/var/lib/polygraph polygraph ask "How do I limit a container's memory?"
#   docker run --rm -v polygraph:/var/lib/polygraph -v "$PWD:/work" -w /work --user "$(id -u)" polygraph index --corpus html:site --out docs.polygraph
#
# What is made while it runs (ledger, caches, built vectors) goes to /var/lib/polygraph. The key of a language model comes in
# GROQ_API_KEY, or in a mounted file that GROQ_API_KEY_FILE names. Another base: --build-arg BASE=ubuntu:24.04.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ENV POLYGRAPH_DIR=/polygraph-home DEBIAN_FRONTEND=noninteractive
WORKDIR /polygraph
COPY . .
RUN ./polygraph build

# Beside the program: what it loads at run time, and the packages of the libraries that it and Node.js are linked with.
RUN mkdir -p /image/bin /image/node_modules/onnxruntime-node/bin /image/index \
 && cp build/default/cli/polygraph /image/bin/ \
 && strip /image/bin/polygraph \
 && node=$(find "$POLYGRAPH_DIR/toolchain" -path '*/bin/node' -type f 2>/dev/null | head -n 1 || true) \
 && cp "${node:-$(command -v node)}" /image/bin/node \
 && cp -r dist assets LICENSE /image/ \
 && rm -rf /image/dist/.compressed \
 && cp -r node_modules/onnxruntime-common /image/node_modules/ \
 && cp -r node_modules/onnxruntime-node/package.json node_modules/onnxruntime-node/dist /image/node_modules/onnxruntime-node/ \
 && architecture=$(/image/bin/node -p process.arch) \
 && for napi in node_modules/onnxruntime-node/bin/napi-*; do \
      mkdir -p "/image/$napi/linux" && cp -r "$napi/linux/$architecture" "/image/$napi/linux/"; \
    done \
 && cp -rL "$POLYGRAPH_DIR/models" /image/models \
 && rm -rf /image/models/downloads \
 && cp "$POLYGRAPH_DIR/index/docker-doc.polygraph" /image/index/ \
 && install -m 755 proxy/deploy/container-entrypoint /image/bin/entrypoint \
 && for library in $(ldd /image/bin/polygraph /image/bin/node | awk '$3 ~ /^\// { print $3 }' | sort -u | xargs readlink -f); do \
      dpkg -S "$library" 2>/dev/null || dpkg -S "${library#/usr}"; \
    done | cut -d: -f1 | sort -u >/image/packages

FROM ${BASE}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY --from=build /image /opt/polygraph
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive xargs -a /opt/polygraph/packages apt-get install -y -q --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 polygraph \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/polygraph --no-create-home --shell /usr/sbin/nologin polygraph \
 && install -d -o polygraph -g polygraph -m 755 /var/lib/polygraph
ENV POLYGRAPH_DIR=/var/lib/polygraph \
    POLYGRAPH_NODE=/opt/polygraph/bin/node \
    PATH=/opt/polygraph/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER 10001:10001
WORKDIR /var/lib/polygraph
VOLUME /var/lib/polygraph
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/polygraph/bin/entrypoint"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080", "--site", "/opt/polygraph/dist/site", "--index", "/opt/polygraph/index/docker-doc.polygraph"]
