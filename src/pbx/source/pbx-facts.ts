/** The facts in which kinds of PBX differ. How each is talked to is in pbx/kinds.ts. */
type PbxFacts = {
  readonly title: string
  /** The name of the protocol that its connections speak. */
  readonly protocol: string
  /** Its login has a user beside the secret. */
  readonly hasUser: boolean
  /** The name of the secret in its configuration. */
  readonly secretTitle: string
  /** The password of a fresh installation, which everybody knows. */
  readonly defaultSecret?: string
  /** Its channels have a domain, which can be the customer. */
  readonly hasDomains: boolean
  /** Its trunks are gateways, whose ids in events need not be their names for people. */
  readonly hasGateways: boolean
  /** Its lists of states name its phones and trunks; other kinds take the names from the list of endpoints. */
  readonly statesNameEndpoints: boolean
  /** How recordings of its connections are recognized: a text in the first bytes, the end of the file's name. */
  readonly recording: { readonly mark: string; readonly suffix: string }
}

export const PBX_FACTS = {
  asterisk: {
    title: 'Asterisk',
    protocol: 'AMI',
    hasUser: true,
    secretTitle: 'Secret',
    hasDomains: false,
    hasGateways: false,
    statesNameEndpoints: false,
    recording: { mark: 'Asterisk Call Manager', suffix: '.ami' },
  },
  freeswitch: {
    title: 'FreeSWITCH',
    protocol: 'ESL',
    hasUser: false,
    secretTitle: 'Password',
    defaultSecret: 'ClueCon',
    hasDomains: true,
    hasGateways: true,
    statesNameEndpoints: true,
    recording: { mark: 'Content-Type: ', suffix: '.esl' },
  },
} as const satisfies Record<string, PbxFacts>

export type PbxKind = keyof typeof PBX_FACTS

// Object.keys loses the type of the keys.
export const PBX_KINDS = Object.keys(PBX_FACTS) as unknown as readonly [PbxKind, ...PbxKind[]]

type ProtocolFacts = {
  readonly kind: PbxKind
  readonly title: string
  /** The usual port. */
  readonly port: number
  readonly isOverTls: boolean
}

/** The schemes of PBX URLs, in the order in which they are offered. */
export const PBX_PROTOCOLS = {
  ami: { kind: 'asterisk', title: 'Asterisk', port: 5038, isOverTls: false },
  amis: { kind: 'asterisk', title: 'Asterisk, TLS', port: 5039, isOverTls: true },
  esl: { kind: 'freeswitch', title: 'FreeSWITCH', port: 8021, isOverTls: false },
} as const satisfies Record<string, ProtocolFacts>

export type PbxProtocol = keyof typeof PBX_PROTOCOLS

export const PROTOCOL_NAMES = Object.keys(PBX_PROTOCOLS) as unknown as readonly [PbxProtocol, ...PbxProtocol[]]

/** Returns the protocol with this name, `undefined` if no protocol has it. */
export const protocolOf = (name: string): PbxProtocol | undefined => PROTOCOL_NAMES.find((one) => one === name)

/** Returns the kind of the PBX at a URL, whose other parts may be wrong. */
export const kindOfUrl = (url: string): PbxKind => PBX_PROTOCOLS[protocolOf(url.split(':', 1)[0] ?? '') ?? 'ami'].kind
