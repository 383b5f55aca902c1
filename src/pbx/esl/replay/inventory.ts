import { userOf } from '../address.ts'
import type { EslEvent } from '../decoder.ts'
import { variableOf } from '../event.ts'

/**
 * Returns the answer of a FreeSWITCH with these recorded events to a command; `undefined` if they have no facts for it.
 */
export function eslAnswerOf(events: readonly EslEvent[], command: string): string | undefined {
  const users = new Map<string, { domain: string; name: string; number: string }>()
  const gateways = new Map<string, string>()
  const contexts = new Map<string, string>()
  for (const event of events) {
    const profile = variableOf(event, 'sofia_profile_name')
    const user = variableOf(event, 'user_name')
    const gateway = variableOf(event, 'sip_gateway_name')
    const dialled = userOf(variableOf(event, 'dialed_user'))
    const domain = variableOf(event, 'domain_name') || variableOf(event, 'dialed_domain')
    if (gateway !== '') gateways.set(gateway, profile)
    if (profile !== '' && !contexts.has(profile)) contexts.set(profile, '')
    const isCaller = event.get('Call-Direction') === 'inbound' && event.name === 'CHANNEL_CREATE'
    if (isCaller && profile !== '' && user === '') contexts.set(profile, event.get('Caller-Context'))
    if (isCaller && user !== '') {
      const number = event.get('Caller-Caller-ID-Number')
      const name = event.get('Caller-Caller-ID-Name')
      users.set(user, { domain, name: name === number ? '' : name, number })
    } else if (dialled !== '' && !users.has(dialled)) users.set(dialled, { domain, name: '', number: dialled })
  }
  if (command === 'sofia status' && contexts.size > 0)
    return [
      ...[...contexts].map(([profile]) => `${profile}\tprofile\tsip:mod_sofia@192.0.2.1\tRUNNING (0)`),
      ...[...gateways].map(([gateway, profile]) => `${profile}::${gateway}\tgateway\tsip:192.0.2.2\tNOREG`),
      '',
    ].join('\n')
  const context = contexts.get(/^sofia status profile (\S+)$/.exec(command)?.[1] ?? '')
  if (context !== undefined && context !== '') return `Context          \t${context}\n`
  if (command !== 'list_users' || users.size === 0) return undefined
  const rows = [...users].map(([user, { domain, name, number }]) => [user, 'default', domain, name, number].join('|'))
  return ['userid|context|domain|effective_caller_id_name|effective_caller_id_number', ...rows, '', '+OK', ''].join(
    '\n',
  )
}
