import { Option } from 'commander'
import { comparedText } from '../lib/text.ts'
import { wrongUsage } from '../lib/usage.ts'
import { type GivenPbx, parsePbxUrl } from '../pbx/source/pbx-url.ts'

// The list of processes shows a secret on a command line to everybody: so there are other ways to give a PBX's URL.

export const PBX_URL = 'ami://user:secret@host, amis://user:secret@host or esl://:password@host'
const VARIABLE = 'HOOKSWITCH_PBX'
const FROM_INPUT = '-'

/** Returns the option that chooses one of several PBXs in the variable. */
export const nameOption = () =>
  new Option('--name <name>', 'the PBX to use if there are several').env('HOOKSWITCH_PBX_NAME')

/** Returns the option that names one PBX. The service's own variable has the URLs of PBXs, with their secrets. */
export const pbxOption = (description: string) => new Option('--pbx <name>', description).env('HOOKSWITCH_PBX_NAME')

/** The sources of a PBX's URL: the argument, `-` for a line of standard input, else the service's own variable. */
export type PbxGiven = {
  readonly url: string | undefined
  readonly name: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly readInput: () => Promise<string>
}

/**
 * Returns the PBX of a command.
 * @throws CommanderError (exit code 2) unless exactly one is given.
 */
export async function pbxSource({ url, name, env, readInput }: PbxGiven): Promise<GivenPbx> {
  const text = url === FROM_INPUT ? await readInput() : (url ?? env[VARIABLE] ?? '')
  const sources = text.split(/\s+/).filter(Boolean).map(parsed)
  const found = name === undefined ? sources : sources.filter((one) => one.name === comparedText(name))
  const [source] = found
  const names = sources.map((one) => one.name).join(', ')
  if (sources.length === 0 && name !== undefined)
    throw wrongUsage(
      `there is no PBX named ${name}: hookswitch pbx list has those of the store; give its folder with --data, or the URL of the PBX`,
    )
  if (sources.length === 0)
    throw wrongUsage(
      `the PBX is missing: give its URL (${PBX_URL}), or ${FROM_INPUT} for a line of standard input, or set ${VARIABLE} or ${VARIABLE}_FILE`,
    )
  if (source === undefined)
    throw wrongUsage(`there is no PBX named ${name} among ${names}: give one of these with --name`)
  if (found.length > 1) throw wrongUsage(`${names}: choose one of them with --name`)
  return source
}

function parsed(url: string): GivenPbx {
  const result = parsePbxUrl(url)
  if ('wrong' in result) throw wrongUsage(`the PBX URL ${result.wrong}`)
  return { ...result.pbx, url }
}

/** Reads standard input to its end, and returns its first line. */
export const inputLine = async (): Promise<string> => (await Bun.stdin.text()).split(/\r?\n/, 1)[0] ?? ''
