import type { InventoryReply } from '../connection/inventory-refresh.ts'
import type { Commands } from './commands.ts'
import { inventoryOf, profilesOf } from './inventory.ts'

/** The commands, and how their output is read. */
export const QUESTIONS = [
  ['sofia status', 'the gateways'],
  ['list_users', 'the users of the directory'],
  ['show registrations as json', 'which phones are registered'],
  ['callcenter_config agent list', 'the agents of queues'],
] as const

/** The names of queues; if the command is refused, queues have no display names. */
const CALLCENTER = 'xml_locate configuration configuration name callcenter.conf'

/** Requests the configuration of a FreeSWITCH, in the background, since a large directory takes time. */
export async function requestInventory(
  commands: Commands,
  gatewayNames?: Readonly<Record<string, string>>,
): Promise<InventoryReply> {
  const answers: string[] = []
  const denied: string[] = []
  for (const [question] of QUESTIONS) {
    const answer = await commands.runJob(question)
    if (answer === undefined) return { inventory: undefined, denied }
    if (/^-(ERR|USAGE)/.test(answer)) denied.push(question)
    answers.push(answer.startsWith('-') ? '' : answer)
  }
  const [sofia = '', users = '', registrations = '', agents = ''] = answers
  const profiles: Record<string, string> = {}
  for (const profile of profilesOf(sofia)) {
    const answer = /^[\w.-]+$/.test(profile) ? await commands.runJob(`sofia status profile ${profile}`) : ''
    if (answer !== undefined) profiles[profile] = answer
  }
  const callcenter = agents === '' ? '' : ((await commands.runJob(CALLCENTER)) ?? '')
  const found = { sofia, profiles, users, registrations, agents, callcenter }
  return { inventory: inventoryOf(found, gatewayNames), denied }
}
