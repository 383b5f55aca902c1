import type { At } from '../../signal.ts'
import type { Call, TransferState } from '../state/state.ts'

/** The transfers of a call: each once, however often the PBX reports it, and kept until it is emitted. */

/** Each party may report the same transfer: two reports within this time are one transfer. */
const SAME_TRANSFER_US = 2_000_000

/** How reports of one transfer are found to be the same. */
type Report = { readonly key: string; readonly by: string | null; readonly withinUs?: number }

/** Returns whether a transfer is new, and notes it: `false` if it was noted shortly before. */
export function isNewTransfer(call: Call, { key, by, withinUs = SAME_TRANSFER_US }: Report, { atUs }: At): boolean {
  const before = call.transferred.findLast((one) => one.key === key)
  if (before !== undefined && atUs - before.atUs < withinUs) return false
  call.transferred = [...call.transferred, { key, by, atUs }]
  return true
}

/** Adds a transfer, to be emitted. */
export function addTransfer(call: Call, transfer: TransferState): void {
  call.transfers = [...call.transfers, transfer]
}

/** Moves the transfers of a call that goes on in another one. */
export function moveTransfers(from: Call, into: Call): void {
  into.transferred = [...into.transferred, ...from.transferred]
  into.transfers = [...into.transfers, ...from.transfers]
  from.transfers = []
}

/** Takes the transfers that happened until a time. */
export function takeTransfers(call: Call, untilUs: number): readonly TransferState[] {
  const { transfers } = call
  if (transfers.length === 0) return transfers
  call.transfers = transfers.filter(({ atUs }) => atUs > untilUs)
  return transfers.filter(({ atUs }) => atUs <= untilUs)
}
