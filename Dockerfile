# syntax=docker/dockerfile:1

# The executable, from the lock file, with the Bun of npm as in the workflows.
FROM node:24-bookworm@sha256:64af3819f9275802414d7cdc38c27e9d82bd564dec4d4da87d008255d36c63b4 AS build
WORKDIR /build
RUN npm install --global bun@1.4.5
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile
COPY tsconfig.json LICENSE ./
COPY src ./src
RUN bun run build && mkdir /build/data

# Nothing but it, glibc and the certificates. Its user is 65532 (nonroot).
FROM gcr.io/distroless/base-debian12:nonroot@sha256:7f0c72cd138b442ae0deeb69c08b1acf5525439ba251a49ad93c320a061567e5
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
