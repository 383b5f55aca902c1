import { createRequire } from 'node:module'

type Options = {
  port: number
  address: string
  silent: boolean
  directory: string
  configureBuckets: { name: string }[]
}
type Server = { run(): Promise<{ port: number }>; close(): Promise<void> }

/** The package has no types. */
const S3rver: new (options: Options) => Server = createRequire(import.meta.url)('s3rver')

/** Starts s3rver with one bucket in a folder. It checks who signs a request, and not whether the signature is right. */
export async function startS3rver(directory: string, bucket: string) {
  const place = { address: '127.0.0.1', port: 0, directory, silent: true }
  const server = new S3rver({ ...place, configureBuckets: [{ name: bucket }] })
  const { port } = await server.run()
  return { url: `http://S3RVER:S3RVER@127.0.0.1:${port}/${bucket}`, stop: () => server.close() }
}
