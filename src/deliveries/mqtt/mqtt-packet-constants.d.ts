/** The tables of the library, which has no types for them. */
declare module 'mqtt-packet/constants' {
  export const MQTT5_PUBACK_PUBREC_CODES: Record<number, string>
  export const MQTT5_DISCONNECT_CODES: Record<number, string>
}
