import { nextPbxTurn, runInSlices, takeSlice } from '../../lib/slices.ts'
import type { NowUs } from '../../lib/time.ts'
import type { StateList, StateSignal } from '../../states/states.ts'
import type { StateFeed } from '../connection/protocol.ts'
import type { Commands } from './commands.ts'
import { profilesOf, table } from './inventory.ts'
import { listRowsInSteps } from './list-rows.ts'
import type { EslStates, Gateway, ListedRow, Registration } from './states.ts'

type ListRequest = {
  readonly commands: Commands
  readonly states: EslStates
  readonly nowUs: NowUs
  readonly feed: StateFeed
}

/**
 * Requests the present states of phones, trunks, agents and queues, in the background. Returns the registered users
 * whose names FreeSWITCH does not list: all of them, or none.
 */
export async function requestStates({ commands, states, nowUs, feed }: ListRequest): Promise<readonly string[]> {
  const ask = async (question: string): Promise<string | undefined> => {
    const answer = await commands.runJob(question)
    return answer === undefined || /^-(ERR|USAGE)/.test(answer) ? undefined : answer
  }
  const begin = (list: StateList): void => feed([{ kind: 'list_began', list, atUs: nowUs() }])
  const end = (list: StateList, isComplete: boolean): void =>
    feed([{ kind: 'list_ended', list, isComplete, atUs: nowUs() }])

  states.beginLists()
  const users = table((await ask('list_users')) ?? '')
  await feedInSlices(feed, states.users(users, nowUs()))
  const sofia = await ask('sofia status')

  begin('contacts')
  begin('devices')
  let isComplete = sofia !== undefined
  const registrations: Registration[] = []
  for (const profile of profilesOf(sofia ?? '')) {
    const answer = /^[\w.-]+$/.test(profile) ? await ask(`sofia status profile ${profile} reg`) : undefined
    isComplete &&= answer !== undefined
    for (const one of await runInSlices(registrationsOf(answer ?? ''))) registrations.push(one)
  }
  if (isComplete) await feedInSlices(feed, states.registrations(registrations, nowUs()))
  const channels = await commands.send('api show channels as json')
  const legs = await runInSlices(listRowsInSteps(channels?.body ?? ''))
  await feedInSlices(feed, states.legs(legs.map(rowOf), nowUs()))
  end('contacts', isComplete)
  end('devices', isComplete)

  begin('registrations')
  const gateways = await ask('sofia xmlstatus gateway')
  feed(states.gateways(gatewaysOf(gateways ?? ''), nowUs()))
  end('registrations', gateways !== undefined)

  begin('queues')
  const queues = table((await ask('callcenter_config queue list')) ?? '')
  const agents = table((await ask('callcenter_config agent list')) ?? '')
  const tiers = await ask('callcenter_config tier list')
  feed(states.agents({ queues, agents, tiers: table(tiers ?? '') }, nowUs()))
  for (const queue of queues) {
    const name = queue.get('name') ?? ''
    if (/[\s'"]/.test(name)) continue
    feed(states.callers(table((await ask(`callcenter_config queue list members ${name}`)) ?? ''), nowUs()))
  }
  end('queues', tiers !== undefined)
  return users.length > 0 ? [] : [...new Set(registrations.map(({ user }) => user))]
}

/** Feeds the signals of a list as they are made. Events have their turns in between. */
async function feedInSlices(feed: StateFeed, steps: Iterator<StateSignal[]>): Promise<void> {
  for (;;) {
    const { taken, done } = takeSlice(steps)
    feed(taken.flat())
    if (done) return
    await nextPbxTurn()
  }
}

const rowOf = (row: Readonly<Record<string, string>>): ListedRow => new Map(Object.entries(row))

/**
 * Returns the registrations in the output of `sofia status profile NAME reg`: a block of lines for each. In steps of
 * one block.
 */
function* registrationsOf(text: string): Generator<void, Registration[]> {
  const registrations: Registration[] = []
  for (const block of text.split(/\n\s*\n/)) {
    const field = (name: 'User' | 'Call-ID' | 'Ping-Status'): string => FIELDS[name].exec(block)?.[1]?.trim() ?? ''
    const [user, callId] = [field('User'), field('Call-ID')]
    if (user !== '' && callId !== '') registrations.push({ user, callId, ping: field('Ping-Status') })
    yield
  }
  return registrations
}

const FIELDS = {
  User: /^User:\s*(.*)$/m,
  'Call-ID': /^Call-ID:\s*(.*)$/m,
  'Ping-Status': /^Ping-Status:\s*(.*)$/m,
}

/** Returns the gateways in the output of `sofia xmlstatus gateway`. */
function gatewaysOf(xml: string): Gateway[] {
  return xml.split('<gateway>').flatMap((part) => {
    const field = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(part)?.[1] ?? ''
    const name = field('name')
    if (name === '') return []
    return [{ name, state: field('state'), isUp: field('status') === 'UP', isPinged: field('pingfreq') !== '0' }]
  })
}
