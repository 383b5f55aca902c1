import type { AuditFacts } from '../../store/operations/audit.ts'

/** Describes the replacement of a URL's options: its host, and the names of the options that differ. */
export function optionsChange(before: object | undefined, after: { readonly url: string }): AuditFacts {
  const was = new Map(Object.entries(before ?? {}))
  const changed = Object.entries(after).flatMap(([name, value]) =>
    Bun.deepEquals(was.get(name), value, true) ? [] : [name],
  )
  return { host: new URL(after.url).host, changed }
}
