/** AMI events exactly as Asterisk prints them, since an event that lacks a part of its shape is ignored. */

type Fields = Readonly<Record<string, string | number>>

/** A snapshot of a channel, in the order of its headers. */
export function snapshotOf(id: string, fields: Fields = {}, prefix = ''): Fields {
  const all = {
    Channel: 'PJSIP/101-00000001',
    ChannelState: 4,
    ChannelStateDesc: 'Ring',
    CallerIDNum: '101',
    CallerIDName: '<unknown>',
    ConnectedLineNum: '<unknown>',
    ConnectedLineName: '<unknown>',
    Language: 'en',
    AccountCode: '',
    Context: 'from-internal',
    Exten: '102',
    Priority: 1,
    Uniqueid: id,
    Linkedid: id,
    ...fields,
  }
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [prefix + key, value]))
}

/** The bytes of an event; a later field replaces an earlier one of the same name. */
export function amiEvent(name: string, ...fields: readonly Fields[]): string {
  const lines = Object.entries(Object.assign({}, ...fields)).map(([key, value]) => `${key}: ${value}\r\n`)
  return `Event: ${name}\r\nPrivilege: call,all\r\n${lines.join('')}\r\n`
}
