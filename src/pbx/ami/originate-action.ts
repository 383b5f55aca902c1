import { type CallOrder, tenantMarkOf } from '../connection/call-order.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Action } from './actions.ts'

/** Asterisk gives up ringing the phone after this time. */
const RING_MS = 30_000

/** Returns the action that makes a call. */
export function originateAction(source: PbxSource, order: CallOrder): Action {
  const { calls } = source
  const { phone, channelId, to, name } = order
  const mark = tenantMarkOf(source.tenants, phone)
  const context = mark.kind === 'context' ? mark.value : (calls?.context ?? '')
  // The dialplan sees the phone as the caller, and the phone sees the number: `CallerID` would set both.
  const variables = [
    `CALLERID(num)=${phone.extension}`,
    ...(phone.name === '' ? [] : [`CALLERID(name)=${phone.name}`]),
    `CONNECTEDLINE(num)=${to}`,
    ...(name === '' ? [] : [`CONNECTEDLINE(name)=${name}`]),
    ...(mark.kind === 'variable' ? [`__${mark.name}=${mark.value}`] : []),
  ]
  const isLocal = calls?.phone === 'extension'
  return {
    Action: 'Originate',
    Channel: isLocal ? `Local/${phone.extension}@${context}` : phone.endpoint,
    ChannelId: channelId,
    ...(isLocal ? { OtherChannelId: `${channelId}-2` } : {}),
    Context: context,
    Exten: to,
    Priority: '1',
    Timeout: String(RING_MS),
    ...(mark.kind === 'accountcode' ? { Account: mark.value } : {}),
    Async: 'true',
    Variable: variables,
  }
}
