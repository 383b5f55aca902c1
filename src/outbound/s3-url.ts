/** A bucket of S3, and the beginning of its keys. */
export type S3Place = { readonly bucket: string; readonly prefix: string }

/** Parses `s3://bucket/prefix`. Returns `undefined` for any other text. */
export function parseS3Url(text: string): S3Place | undefined {
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/i.exec(text)
  if (match === null) return undefined
  const [, bucket = '', prefix = ''] = match
  return { bucket, prefix: prefix.replace(/\/+$/, '') }
}
