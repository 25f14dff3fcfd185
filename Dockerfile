# docker build -t loadline:0.1.0 .
# The same two steps as on any Debian 12 machine: install the packages, make build.
ARG DEBIAN=debian:12.11-slim

FROM ${DEBIAN} AS build
WORKDIR /src
COPY tools/install-deps.sh tools/
RUN tools/install-deps.sh build
COPY . .
RUN make build && strip --strip-debug build/release/loadline

FROM ${DEBIAN}
# Debian's packages and not copied files, so that scanners see them. What `ldd build/release/loadline` asks for.
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends \
      libssl3 libprotobuf-lite32 libyaml-cpp0.7 libfmt9 libboost-url1.81.0 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/loadline /usr/bin/loadline
USER 65532:65532
EXPOSE 10250
ENTRYPOINT ["/usr/bin/loadline"]
CMD ["serve"]
