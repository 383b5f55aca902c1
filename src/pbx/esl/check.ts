import { isLoopbackHost } from '../../lib/loopback-host.ts'
import { checkEndpoints } from '../connection/endpoint-findings.ts'
import { type Check, type Find, type Found, MAX_BYTES, TOO_MUCH, withAdvice } from '../connection/finding.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import { TIMEOUTS } from '../connection/timeouts.ts'
import { cleanValue } from '../endpoints/sanitize.ts'
import { PBX_FACTS } from '../source/pbx-facts.ts'
import { hostAndPort, type PbxSource, type TenantRule } from '../source/pbx-url.ts'
import { type Commands, createCommands } from './commands.ts'
import { EslDecoder } from './decoder.ts'
import { QUESTIONS, requestInventory } from './inventory-request.ts'
import { listRows } from './list-rows.ts'
import { logIn } from './login.ts'

/** Checks a FreeSWITCH, without waiting for events: the login subscribes to all that are needed. */
export const checkEsl: Check = async (source, _, found) => {
  const problem = await findProblem(source, found)
  if (problem === 'it refuses the password') return `${problem}: check <param name="password"> in event_socket.conf.xml`
  return problem && withAdvice(problem, WHERE)
}

const WHERE =
  'is FreeSWITCH running there, with mod_event_socket loaded, and this listen-port and a listen-ip that can be reached from here in event_socket.conf.xml?'

async function findProblem(source: PbxSource, { find, tenants }: Found): Promise<string | undefined> {
  const socket = openSocket(addressOf(source), TIMEOUTS.connectMs)
  const lost: string[] = []
  const commands = createCommands({
    write: socket.write,
    replyMs: TIMEOUTS.replyMs,
    lost(reason) {
      lost.push(reason)
      socket.close()
    },
  })
  const decoder = new EslDecoder()
  void socket.closed.then(commands.close)
  try {
    if (!(await socket.opened)) return await socket.closed
    find('ok', `${hostAndPort(source)} answers`)
    let bytes = 0
    socket.read((chunk) => {
      bytes += chunk.length
      if (bytes > MAX_BYTES) {
        find('advice', TOO_MUCH)
        return socket.close()
      }
      for (const frame of decoder.push(chunk)) {
        if (frame.contentType === 'text/rude-rejection')
          lost.push('its access list refuses the address of this machine: see event_socket.conf.xml')
        commands.receive(frame)
      }
      if (decoder.fault !== undefined) {
        lost.push(decoder.fault)
        socket.close()
      }
    })
    const login = await logIn(source, commands, TIMEOUTS.connectMs)
    if (login.kind !== 'in') return lost[0] ?? login.reason
    find('ok', 'the password is right, and it sends events')
    await checkRights(source, commands, find)
    if (source.calls !== undefined) find('ok', 'calls can be made')
    if (source.tenants !== undefined)
      for (const value of await tenantValues(source.tenants, commands)) tenants.add(value)
    return undefined
  } finally {
    socket.close()
  }
}

async function checkRights(source: PbxSource, commands: Commands, find: Find): Promise<void> {
  if (source.secret === PBX_FACTS.freeswitch.defaultSecret) {
    const level = isLoopbackHost(source.host) ? 'advice' : 'missing'
    find(
      level,
      `the password is the default one (${source.secret}), which everybody knows: change it in event_socket.conf.xml`,
    )
  }
  const reply = await requestInventory(commands, source.gateways)
  checkEndpoints(source, reply, {
    find,
    questions: QUESTIONS,
    right: 'allow its user these commands, or load their modules',
  })
  const channels = await commands.send('api show channels as json')
  const count = /"row_count":\s*(\d+)/.exec(channels?.body ?? '')?.[1]
  if (count !== undefined) find('ok', `it lists its channels: ${count} now`)
  else
    find(
      'missing',
      'it does not list its channels, so calls cannot be followed across a lost connection: allow "api show"',
    )
}

/** Returns the tenant values of the channels, the directory and the registrations of a FreeSWITCH. */
async function tenantValues({ by }: TenantRule, commands: Commands): Promise<Set<string>> {
  const channels = listRows((await commands.send('api show channels as json'))?.body ?? '')
  if (by === 'accountcode') return valuesOf(channels.map(({ accountcode }) => accountcode))
  if (by === 'context') return valuesOf(channels.flatMap((row) => [row.initial_context, row.context]))
  // Only events show the variables of a channel.
  if (by === 'variable') return new Set()
  const registered = listRows((await commands.runJob('show registrations as json')) ?? '')
  const users = (await commands.runJob('list_users')) ?? ''
  const [head = '', ...lines] = users.split('\n')
  const column = head.split('|').indexOf('domain')
  const domains = lines.map((line) => line.split('|')[column])
  const inUse = channels.map(({ presence_id: presence }) => presence?.split('@')[1])
  return valuesOf([...domains, ...inUse, ...registered.map(({ realm }) => realm)])
}

const valuesOf = (values: readonly (string | undefined)[]): Set<string> =>
  new Set(values.flatMap((value) => cleanValue(value ?? '') ?? []))
