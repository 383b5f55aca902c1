import { requestChannel } from '../../calls/calls.ts'
import type { PhoneDevice } from '../../states/states.ts'
import type { TakenCallRequest } from '../../store/operations/call-requests.ts'
import { type CallOrder, tenantMarkOf } from '../connection/call-order.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { mayBeCalled, nameToShow, numberToDial, plainText } from './number.ts'

type Ordered = { readonly order: CallOrder } | { readonly reason: string }

/** Endpoints and tenant values come from the PBX: a value that could mean something else in a command is never sent. */
const SAFE = /^[^\s"'<>\\${}[\],^|&;]{1,128}$/

/**
 * Returns the order for a request, or why its phone cannot be rung. The number and name are checked again: between the
 * request and the PBX lies a store.
 */
export function orderOf(source: PbxSource, request: TakenCallRequest, devices: readonly PhoneDevice[]): Ordered {
  const { extension, id } = request
  const to = numberToDial(request.number ?? '')
  const name = nameToShow(request.name ?? '')
  if ('problem' in to || 'problem' in name || !mayBeCalled(to.value, source.calls?.to ?? []))
    return { reason: 'this number may not be called' }
  if (extension === null || devices.length === 0) return { reason: `the PBX shows no phone ${extension}` }
  const device = devices.find(({ isRegistered }) => isRegistered === true) ?? devices.find(isUnknown)
  if (device === undefined) return { reason: `no device of ${extension} is registered` }
  const phone = { ...device, extension, name: plainText(device.name ?? '') }
  const mark = tenantMarkOf(source.tenants, phone)
  const parts = [device.endpoint, extension, ...('value' in mark ? [mark.value] : [])]
  const unsafe = parts.find((part) => !SAFE.test(part))
  if (unsafe !== undefined)
    return { reason: `the PBX names the phone ${JSON.stringify(unsafe)}, which cannot be dialled` }
  return { order: { channelId: requestChannel(id), to: to.value, name: name.value, phone } }
}

const isUnknown = ({ isRegistered }: PhoneDevice): boolean => isRegistered === null
