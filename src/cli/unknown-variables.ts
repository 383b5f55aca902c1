import type { Command } from 'commander'

const PREFIX = 'HOOKSWITCH_'
const OF_FILE = /_FILE$/
/** Variables without a flag: the first user, and the variables of the examples in README.md. */
const OTHERS = ['USER_EMAIL', 'USER_PASSWORD', 'TOKEN', 'BASE_URL'].map((name) => PREFIX + name)
/** Kubernetes gives containers the address of a service that is called hookswitch: `HOOKSWITCH_PORT_80_TCP`. */
const KUBERNETES = /^HOOKSWITCH_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP|SCTP))(_\w+)?$/
/** Variables of the tests. */
const TESTS = /^HOOKSWITCH_TEST_/
/** More letters than that are another word. */
const MAX_DIFFERENCE = 3

/**
 * Returns a sentence for each variable of Hookswitch that a command and those below it do not read, such as a misspelt
 * one, with the nearest name that exists.
 */
export function unknownVariables(command: Command, env: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...new Set([...variablesOf(command), ...OTHERS])]
  return (
    Object.keys(env)
      .filter((name) => name.startsWith(PREFIX) && !TESTS.test(name) && !isKubernetes(name, env[name]))
      // The command line has set this one itself, from its file.
      .filter((name) => !(`${name}_FILE` in env))
      .filter((name) => !known.includes(name.replace(OF_FILE, '')) && !known.includes(name))
      .map((name) => {
        const nearest = nearestOf(name.replace(OF_FILE, ''), known)
        const end = OF_FILE.exec(name)?.[0] ?? ''
        const advice = nearest === undefined ? 'hookswitch serve --help lists all' : `did you mean ${nearest}${end}?`
        return `the variable ${name} is not known, and has no effect: ${advice}`
      })
  )
}

const isKubernetes = (name: string, value = ''): boolean =>
  KUBERNETES.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))

function variablesOf(command: Command): string[] {
  return [...command.options.flatMap(({ envVar }) => envVar ?? []), ...command.commands.flatMap(variablesOf)]
}

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, difference: differenceOf(name, one) }))
    .filter(({ difference }) => difference <= MAX_DIFFERENCE)
    .sort((a, b) => a.difference - b.difference)
  return nearest?.one
}

/** Returns how many letters have to be added, removed or replaced to get from one word to another (Levenshtein). */
function differenceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const before = row
    row = [index + 1]
    for (const [column, other] of [...to].entries())
      row.push(
        Math.min(
          (before[column] ?? 0) + (letter === other ? 0 : 1),
          (before[column + 1] ?? 0) + 1,
          (row[column] ?? 0) + 1,
        ),
      )
  }
  return row.at(-1) ?? 0
}
