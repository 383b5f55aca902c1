import { actionId, actionName, ami, startScripted } from './pbx.ts'

// An Asterisk with some phones, a trunk and a queue, as its lists show them.

type Lists = Readonly<Record<string, readonly string[]>>
type Variables = Readonly<Record<string, string>>

const LISTS: Lists = {
  DeviceStateList: [
    'Event: DeviceStateChange\nDevice: PJSIP/101\nState: NOT_INUSE',
    'Event: DeviceStateChange\nDevice: PJSIP/102\nState: UNAVAILABLE',
    'Event: DeviceStateChange\nDevice: PJSIP/carrier\nState: NOT_INUSE',
    'Event: DeviceStateChange\nDevice: Queue:support_avail\nState: NOT_INUSE',
  ],
  PJSIPShowRegistrationsOutbound: [
    'Event: OutboundRegistrationDetail\nObjectName: carrier-reg\nEndpoint: carrier\nClientUri: sip:a@b\nServerUri: sip:b\nStatus: Registered',
  ],
  QueueStatus: [
    'Event: QueueParams\nQueue: support\nCalls: 1',
    'Event: QueueMember\nQueue: support\nName: Anna\nLocation: Local/101@from-queue/n\nStateInterface: PJSIP/101\nInCall: 0\nStatus: 1\nPaused: 1\nPausedReason: lunch',
    'Event: QueueEntry\nQueue: support\nPosition: 1\nUniqueid: 1.5\nWait: 41',
  ],
}
const VARIABLES: Variables = {
  'PJSIP_AOR(101,contact)': '101;@0123456789abcdef0123456789abcdef',
  'PJSIP_AOR(102,contact)': '102;@fedcba9876543210fedcba9876543210',
  'PJSIP_CONTACT(102;@fedcba9876543210fedcba9876543210,status)': 'Unreachable',
}

/**
 * Starts it. `send` sends an event, `sendBytes` any bytes, to the client that asked last. The list `held` is answered
 * once it is released.
 */
export function startListedAsterisk(lists: Lists = LISTS, variables: Variables = VARIABLES, held?: string) {
  let sendBytes = (_: string): void => {}
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const pbx = startScripted({
    greeting: 'Asterisk Call Manager/9.0.0\r\n',
    answer(block, write) {
      sendBytes = write
      const id = `ActionID: ${actionId(block)}`
      const name = actionName(block)
      const rows = lists[name]
      if (name === 'Challenge') return write(ami(`Response: Success\nChallenge: 1\n${id}`))
      if (name === 'Getvar') {
        const variable = /^Variable: (.*)$/m.exec(block)?.[1]?.trim() ?? ''
        return write(ami(`Response: Success\n${id}\nVariable: ${variable}\nValue: ${variables[variable] ?? ''}`))
      }
      if (name === 'Login') return write(ami(`Response: Success\n${id}`))
      const isList =
        rows !== undefined || /^(Status|CoreShowChannels|ShowDialPlan|.*List|.*peers|.*registry)$/.test(name)
      if (!isList) return write(ami(`Response: Success\n${id}`))
      const writeList = (): void =>
        write(
          [
            ami(`Response: Success\nEventList: start\n${id}`),
            ...(rows ?? []).map((row) => ami(`${row}\n${id}`)),
            ami(`Event: ${name}Complete\nEventList: Complete\nListItems: ${rows?.length ?? 0}\n${id}`),
          ].join(''),
        )
      if (name === held) void released.then(writeList)
      else writeList()
    },
  })
  return {
    port: pbx.port,
    send: (text: string) => sendBytes(ami(text)),
    sendBytes: (bytes: string) => sendBytes(bytes),
    release,
    stop: pbx.stop,
  }
}
