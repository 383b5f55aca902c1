/** The tables of the library, which has no types for them. */
declare module 'mqtt-packet/constants' {
  const constants: {
    readonly MQTT5_PUBACK_PUBREC_CODES: Record<number, string>
    readonly MQTT5_DISCONNECT_CODES: Record<number, string>
  }
  export default constants
}
