import type { AmiFrame } from '../decoder.ts'

/** The configuration of an Asterisk, as far as its recording shows it, in the form of its lists. */
export type AmiConfigured = {
  /**
   * Returns the rows of a list without their ActionID; `undefined` if the recording shows none, so that the list is
   * refused.
   */
  rows(list: string): readonly Row[] | undefined
}

type Row = Readonly<Record<string, string>>

const COMPLETE: Readonly<Record<string, string>> = {
  extensionstatelist: 'ExtensionStateListComplete',
  devicestatelist: 'DeviceStateListComplete',
  queuestatus: 'QueueStatusComplete',
  showdialplan: 'ShowDialPlanComplete',
  voicemailuserslist: 'VoicemailUserEntryComplete',
}

/** Returns the configuration in frames. */
export function configuredOf(frames: readonly AmiFrame[]): AmiConfigured {
  const lists = new Map<string, Map<string, Row>>()
  const add = (list: string, row: Row): void => {
    const rows = lists.get(list) ?? new Map<string, Row>()
    lists.set(list, rows.set(Object.values(row).join('\n'), row))
  }
  for (const frame of frames) {
    const get = (key: string): string => frame.get(key)
    switch (frame.name) {
      case 'ExtensionStatus':
        if (get('Hint') !== '') add('extensionstatelist', pick(frame, ['Exten', 'Context', 'Hint']))
        break
      case 'DeviceStateChange':
        add('devicestatelist', { Event: 'DeviceStateChange', Device: get('Device'), State: 'NOT_INUSE' })
        break
      case 'QueueMemberStatus':
        add('queuestatus', {
          Event: 'QueueMember',
          Queue: get('Queue'),
          Name: get('MemberName'),
          Location: get('Interface'),
          StateInterface: get('StateInterface'),
        })
        break
      case 'Newexten':
        add('showdialplan', {
          Event: 'ListDialplan',
          ...pick(frame, ['Context', 'Exten', 'Priority', 'Application', 'AppData']),
        })
        for (const row of mailboxOf(frame)) add('voicemailuserslist', row)
        break
      default:
    }
  }
  return { rows: (list) => (lists.has(list) ? [...(lists.get(list)?.values() ?? [])] : undefined) }
}

/** Returns the event that ends a list, `undefined` if it is no list of the configuration. */
export const completeOf = (list: string): string | undefined =>
  Object.hasOwn(COMPLETE, list) ? COMPLETE[list] : undefined

function pick(frame: AmiFrame, keys: readonly string[]): Row {
  return Object.fromEntries(
    keys.map((key) => [key === 'Exten' && frame.name === 'Newexten' ? 'Extension' : key, frame.get(key)]),
  )
}

/** `VoiceMail(101@default,u)`: a mailbox without its owner's name. */
function mailboxOf(frame: AmiFrame): Row[] {
  if (!/^voicemail$/i.test(frame.get('Application'))) return []
  const [mailbox = '', context = ''] = (frame.get('AppData').split(',')[0] ?? '').split('@')
  return [{ Event: 'VoicemailUserEntry', VMContext: context, VoiceMailbox: mailbox, Fullname: '' }]
}
