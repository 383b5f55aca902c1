type EventSocket = {
  /** The address on which FreeSWITCH listens. */
  readonly address: string
  readonly port: string
  readonly password: string
}

/** Returns the settings of event_socket.conf.xml. An event socket for other machines allows private addresses only. */
export const eventSocketLines = ({ address, port, password }: EventSocket): string[] => [
  `<param name="listen-ip" value="${address}"/>`,
  `<param name="listen-port" value="${port}"/>`,
  `<param name="password" value="${escapeXml(password)}"/>`,
  ...(address === '127.0.0.1' ? [] : ['<param name="apply-inbound-acl" value="lan"/>']),
]

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
