import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { type ListRow, listRows } from './list-rows.ts'

/** Variables of listed legs, which the list of channels lacks. */

/** More than a FreeSWITCH has at a time; each costs a command. */
const MAX_ASKED = 5_000

/** Returns another list, in whose `column` the legs of a list of channels that are asked have a variable's value. */
export async function requestVariable(
  commands: Commands,
  channels: EslFrame,
  { variable, column, isAsked }: { variable: string; column: string; isAsked: (row: ListRow) => boolean },
): Promise<EslFrame> {
  const asked = listRows(channels.body)
    .filter(isAsked)
    .flatMap(({ uuid = '' }) => (/^[0-9a-f-]{36}$/i.test(uuid) ? uuid : []))
    .slice(0, MAX_ASKED)
  const replies = await Promise.all(asked.map((id) => commands.send(`api uuid_getvar ${id} ${variable}`)))
  const rows = asked.flatMap((uuid, index) => {
    const value = replies[index]?.body.trim() ?? ''
    return value === '' || value === '_undef_' || value.startsWith('-') ? [] : [{ uuid, [column]: value }]
  })
  return listOf(channels, rows)
}

const listOf = ({ offset, contentType }: EslFrame, rows: readonly ListRow[]): EslFrame => ({
  offset,
  contentType,
  get: () => '',
  body: JSON.stringify({ rows }),
  event: undefined,
})
