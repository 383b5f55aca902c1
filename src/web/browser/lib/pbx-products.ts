import { PBX_PROTOCOLS, type PbxProtocol } from '../../../pbx/source/pbx-facts.ts'

type ProductFacts = {
  readonly title: string
  /** The steps to connect it. */
  readonly hint: string
  /** The protocol of its connections; without TLS where there are two. */
  readonly protocol: PbxProtocol
  /** Whether its secret exists already, and is only to be entered. */
  readonly hasOwnSecret: boolean
}

/** The PBXs that can be chosen in the form, in their order. */
export const PBX_PRODUCTS = {
  freepbx: { title: 'FreePBX, Issabel', hint: 'manager_custom.conf', protocol: 'ami', hasOwnSecret: false },
  asterisk: { title: 'Asterisk', hint: 'manager.conf', protocol: 'ami', hasOwnSecret: false },
  fusionpbx: { title: 'FusionPBX', hint: 'its own password, nothing to write', protocol: 'esl', hasOwnSecret: true },
  freeswitch: { title: 'FreeSWITCH', hint: 'event_socket.conf.xml', protocol: 'esl', hasOwnSecret: false },
} as const satisfies Record<string, ProductFacts>

export type PbxProduct = keyof typeof PBX_PRODUCTS

// Object.keys loses the type of the keys.
export const PRODUCT_NAMES = Object.keys(PBX_PRODUCTS) as unknown as readonly PbxProduct[]

/** Returns the product of a stored PBX: only its protocol is known. */
export const productOf = (protocol: PbxProtocol): PbxProduct => PBX_PROTOCOLS[protocol].kind
