# syntax=docker/dockerfile:1

# The executable, from the lock file. To pin a base image by its digest without a change of this file:
# docker build --build-context oven/bun:1.4.5=docker-image://oven/bun@sha256:… .
FROM oven/bun:1.4.5 AS build
WORKDIR /build
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile
COPY tsconfig.json LICENSE ./
COPY src ./src
RUN bun run build && mkdir /build/data

# Nothing but it, glibc and the certificates. Its user is 65532 (nonroot).
FROM gcr.io/distroless/base-debian12:nonroot
COPY --from=build /build/dist/hookswitch /usr/local/bin/hookswitch
COPY --from=build --chown=65532:65532 /build/data /data
ENV HOOKSWITCH_LISTEN=0.0.0.0:8080 HOOKSWITCH_DATA=/data
USER 65532:65532
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["hookswitch", "health"]
# The process itself, not a shell: SIGTERM reaches it.
STOPSIGNAL SIGTERM
ENTRYPOINT ["hookswitch"]
CMD ["serve"]
