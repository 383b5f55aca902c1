export type Routed = { readonly method: string; readonly path: string }

/** The methods that some route takes at this path, sorted; none if the path is unknown. */
export function allowedMethods(routes: readonly Routed[], path: string): string[] {
  const given = segments(path)
  const methods = new Set(routes.filter((route) => matches(route.path, given)).map((route) => route.method))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}

/** Whether the router's pattern (`/call/:id`, `/files/*`) fits the path; as the router has it, a slash at the end is as none. */
function matches(pattern: string, given: readonly string[]): boolean {
  const wanted = segments(pattern)
  const wildcard = wanted.at(-1) === '*'
  if (wildcard ? given.length < wanted.length - 1 : given.length !== wanted.length) return false
  return wanted.every((segment, index) => segment === '*' || segment.startsWith(':') || segment === given[index])
}

const segments = (path: string) => path.replace(/(?<=.)\/$/, '').split('/')
