import { PBX_FACTS, PBX_PROTOCOLS, type PbxProtocol, protocolOf } from '../../../pbx/source/pbx-facts.ts'
import { PBX_PRODUCTS, type PbxProduct, productOf } from './pbx-products.ts'

/** The fields of the form. All texts are as people type them, without percent-encoding. */
export type PbxFields = {
  readonly product: PbxProduct
  readonly protocol: PbxProtocol
  readonly name: string
  readonly host: string
  /** Empty: the usual one. */
  readonly port: string
  readonly user: string
  /** `***`: the stored one is kept. */
  readonly secret: string
  /** Empty: the default account. */
  readonly account: string
  /** The other parameters of the URL, as they are written in it. */
  readonly more: string
}

const FIRST_NAME = 'office'

/** Returns the fields of a new PBX, with a secret that is made for it. */
export function newPbxFields(secret: string): PbxFields {
  return {
    product: 'freepbx',
    protocol: PBX_PRODUCTS.freepbx.protocol,
    name: FIRST_NAME,
    host: '127.0.0.1',
    port: '',
    user: 'hookswitch',
    secret,
    account: '',
    more: '',
  }
}

/** Returns the fields of a new PBX with a free name, if its name is still the proposed one. */
export function withFreeName(fields: PbxFields, taken: readonly string[]): PbxFields {
  if (fields.name !== FIRST_NAME) return fields
  const names = [FIRST_NAME, ...taken.map((_, at) => `${FIRST_NAME}-${at + 2}`)]
  return { ...fields, name: names.find((name) => !taken.includes(name)) ?? FIRST_NAME }
}

/** Returns the fields for another product: with its usual port, and with the proposed secret unless it has its own. */
export function withProduct(fields: PbxFields, product: PbxProduct, proposed: string): PbxFields {
  const { protocol, hasOwnSecret } = PBX_PRODUCTS[product]
  const isKept = fields.secret === '***' || (fields.secret !== '' && fields.secret !== proposed)
  const changed = {
    ...fields,
    product,
    protocol,
    port: '',
    secret: isKept ? fields.secret : hasOwnSecret ? '' : proposed,
  }
  // With a FusionPBX each domain is a customer, unless the user says otherwise.
  return withDomainsAsCustomers(changed, product === 'fusionpbx')
}

/** Returns whether the PBX is on the machine of the service. */
export const isLocal = ({ host }: Pick<PbxFields, 'host'>): boolean => /^(127\.|localhost$|::1$)/.test(host.trim())

/** Returns the fields for a PBX on the machine of the service, or on another one, whose address is to be given. */
export function withPlace(fields: PbxFields, isOnThisMachine: boolean): PbxFields {
  if (isLocal(fields) === isOnThisMachine) return fields
  return { ...fields, host: isOnThisMachine ? '127.0.0.1' : '' }
}

const DOMAINS = 'tenants=domain'
const parametersOf = (more: string): string[] => more.trim().replace(/^[?&]/, '').split('&').filter(Boolean)

/** Returns whether each domain of the PBX is a customer. */
export const hasDomainsAsCustomers = ({ more }: Pick<PbxFields, 'more'>): boolean =>
  parametersOf(more).includes(DOMAINS)

/** Makes each domain a customer, or not; another `tenants` stays. */
export function withDomainsAsCustomers(fields: PbxFields, isOn: boolean): PbxFields {
  const others = parametersOf(fields.more).filter((one) => one !== DOMAINS)
  const isSet = others.some((one) => one.startsWith('tenants='))
  return { ...fields, more: [...(isOn && !isSet ? [DOMAINS] : []), ...others].join('&') }
}

const COUNTRY = 'country='

/** Returns the country in which the numbers of the PBX are dialled; empty: none is given. */
export const countryOf = ({ more }: Pick<PbxFields, 'more'>): string =>
  parametersOf(more)
    .find((one) => one.startsWith(COUNTRY))
    ?.slice(COUNTRY.length) ?? ''

/** Sets the country, or removes an empty one. Takes letters alone: other characters could add another parameter. */
export function withCountry(fields: PbxFields, country: string): PbxFields {
  const letters = country.replace(/[^a-z]/gi, '').toUpperCase()
  const others = parametersOf(fields.more).filter((one) => !one.startsWith(COUNTRY))
  return { ...fields, more: [...others, ...(letters === '' ? [] : [`${COUNTRY}${letters}`])].join('&') }
}

const KNOWN_PASSWORD = 'ClueCon'

/** Writes the error of a password that everybody knows: from another machine it is an error. `null`: nothing. */
export function describeSecretRisk(fields: PbxFields): { readonly isError: boolean; readonly text: string } | null {
  if (PBX_PROTOCOLS[fields.protocol].kind !== 'freeswitch' || fields.secret !== KNOWN_PASSWORD) return null
  return isLocal(fields)
    ? {
        isError: false,
        text: 'This is ClueCon, which everybody knows. It works, since only this machine can reach it; change it soon.',
      }
    : {
        isError: true,
        text: 'The password is ClueCon, which everybody knows, and the PBX is reached over the network: change it first.',
      }
}

/** Returns why a new PBX cannot have its name, `null` if it can: it would replace the PBX that has the name. */
export function findNameError({ name }: PbxFields, taken: readonly string[]): string | null {
  const text = name.trim()
  return taken.includes(text)
    ? `There is a PBX ${text} already: give this one another name, or change that one under PBXs.`
    : null
}

/** Returns the error of the port, `null` if it is valid: a URL with a wrong port cannot be read at all. */
export function findPortError({ port }: PbxFields): string | null {
  const text = port.trim()
  const isPort = text === '' || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535)
  return isPort ? null : `The port is ${text}: give a number from 1 to 65535.`
}

/** Returns the URL of the fields. */
export function pbxUrlOf({ protocol, name, host, port, user, secret, account, more }: PbxFields): string {
  const { hasUser } = PBX_FACTS[PBX_PROTOCOLS[protocol].kind]
  const bare = host.trim()
  const address = bare.includes(':') && !bare.startsWith('[') ? `[${bare}]` : bare
  const login = `${hasUser ? encodeURIComponent(user.trim()) : ''}:${encodeURIComponent(secret)}`
  const parameters = [
    `name=${encodeURIComponent(name.trim())}`,
    ...(account.trim() === '' ? [] : [`account=${encodeURIComponent(account.trim())}`]),
    ...parametersOf(more),
  ]
  return `${protocol}://${login}@${address}${port.trim() === '' ? '' : `:${port.trim()}`}?${parameters.join('&')}`
}

/** Returns the fields of a URL, as the API shows it to administrators. */
export function pbxFieldsOf(url: string, name: string): PbxFields {
  const [, scheme = '', login = '', address = '', query = ''] =
    /^(\w+):\/\/(?:([^/?#]*)@)?([^/?#]*)[^?#]*(?:\?([^#]*))?/.exec(url) ?? []
  const [, host = '', port = ''] = /^(.*?)(?::(\d+))?$/.exec(address) ?? []
  const [user = '', secret = ''] = login.split(/:(.*)/s)
  const pairs = query.split('&').filter(Boolean)
  const parameter = (key: string) => pairs.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1) ?? ''
  const protocol = protocolOf(scheme) ?? 'ami'
  return {
    product: productOf(protocol),
    protocol,
    name,
    host: host.replace(/^\[|\]$/g, ''),
    port,
    user: decoded(user),
    secret: decoded(secret),
    account: decoded(parameter('account')),
    more: pairs.filter((pair) => !/^(name|account)=/.test(pair)).join('&'),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
