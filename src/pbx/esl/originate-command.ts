import { type CallOrder, tenantMarkOf } from '../connection/call-order.ts'
import type { PbxSource } from '../source/pbx-url.ts'

/** FreeSWITCH gives up ringing the phone after this time. */
const RING_S = 30

/** Returns the API command that makes a call; `context`: where the phone dials. */
export function originateCommand(source: PbxSource, order: CallOrder, context: string): string {
  const { channelId, to, name, phone } = order
  const mark = tenantMarkOf(source.tenants, phone)
  const variables = [
    `origination_uuid=${channelId}`,
    `origination_caller_id_number=${to}`,
    // FreeSWITCH decodes percent-encoding in names: `%0d%0a` would end the line of a SIP header.
    `origination_caller_id_name='${name.replaceAll('%', '') || to}'`,
    `originate_timeout=${RING_S}`,
    'ignore_early_media=true',
    ...(mark.kind === 'accountcode' ? [`accountcode='${mark.value}'`] : []),
    ...(mark.kind === 'variable' ? [`${mark.name}='${mark.value}'`] : []),
  ]
  const rung = source.calls?.phone === 'extension' ? `loopback/${phone.extension}/${context}` : `user/${phone.endpoint}`
  return `originate {${variables.join(',')}}${rung} ${to} ${source.calls?.dialplan ?? 'XML'} ${context}`
}
