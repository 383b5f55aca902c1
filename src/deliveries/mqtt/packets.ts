import type * as Packets from 'mqtt-packet'
import { MQTT5_DISCONNECT_CODES, MQTT5_PUBACK_PUBREC_CODES } from 'mqtt-packet/constants'
import { ALL_FAILURES } from './reason-codes.ts'

let packets: typeof Packets | undefined

/**
 * Returns the reader and writer of MQTT packets, which is loaded when it is first used: the streams that it needs take
 * 15 ms of a start.
 */
export function mqttPackets(): typeof Packets {
  packets ??= load()
  return packets
}

function load(): typeof Packets {
  // The executable would not find what `import()` loads here, in a chunk that others share.
  const library: typeof Packets = require('mqtt-packet')
  // It would keep a buffer for each of 65,536 numbers: 10 MB.
  library.writeToStream.cacheNumbers = false
  // It rejects codes that the standard does not list: Mosquitto answers a message that is too large with 149 in a
  // PUBACK.
  for (const codes of [MQTT5_PUBACK_PUBREC_CODES, MQTT5_DISCONNECT_CODES])
    for (const code of ALL_FAILURES) codes[code] ??= `reason code ${code}`
  return library
}
