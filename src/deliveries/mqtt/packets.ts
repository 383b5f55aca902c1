import { MQTT5_DISCONNECT_CODES, MQTT5_PUBACK_PUBREC_CODES } from 'mqtt-packet/constants'
import { ALL_FAILURES } from './reason-codes.ts'

let packets: typeof import('mqtt-packet') | undefined

/**
 * Returns the reader and writer of MQTT packets, which is loaded when it is first used: the streams that it needs take
 * 15 ms of a start and some megabytes.
 */
export function mqttPackets(): typeof import('mqtt-packet') {
  packets ??= load()
  return packets
}

function load(): typeof import('mqtt-packet') {
  // No `import()`: the executable does not find it in a chunk that others share.
  const library: typeof import('mqtt-packet') = require('mqtt-packet')
  // It would keep a buffer for each of 65,536 numbers: 10 MB.
  library.writeToStream.cacheNumbers = false
  // It rejects codes that the standard does not list: Mosquitto answers a message that is too large with 149 in a PUBACK.
  for (const codes of [MQTT5_PUBACK_PUBREC_CODES, MQTT5_DISCONNECT_CODES])
    for (const code of ALL_FAILURES) codes[code] ??= `reason code ${code}`
  return library
}
