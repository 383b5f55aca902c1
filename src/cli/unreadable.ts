const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder',
  EACCES: 'no permission to read it',
}

/** Returns why a file cannot be read, in words for a person. */
export function unreadable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return REASONS[code] ?? (cause instanceof Error ? cause.message : String(cause))
}
