import { expect, test } from 'bun:test'
import { addressRefusal, newAddressGuard, parseAllowList } from '../../src/outbound/address-guard.ts'

const allowing = (...nets: string[]) => {
  const parsed = parseAllowList(nets)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.allow
}

/** Every block of the IANA IPv4 and IPv6 Special-Purpose Address Registries and of multicast: its first and its last address. */
const SPECIAL: readonly (readonly [string, string, string])[] = [
  ['this network', '0.0.0.0', '0.255.255.255'],
  ['private 10/8', '10.0.0.0', '10.255.255.255'],
  ['shared (CGNAT)', '100.64.0.0', '100.127.255.255'],
  ['loopback', '127.0.0.0', '127.255.255.255'],
  ['link-local, cloud metadata', '169.254.0.0', '169.254.255.255'],
  ['private 172.16/12', '172.16.0.0', '172.31.255.255'],
  ['IETF protocol assignments', '192.0.0.0', '192.0.0.255'],
  ['TEST-NET-1', '192.0.2.0', '192.0.2.255'],
  ['AS112-v4', '192.31.196.0', '192.31.196.255'],
  ['AMT', '192.52.193.0', '192.52.193.255'],
  ['6to4 relay anycast', '192.88.99.0', '192.88.99.255'],
  ['private 192.168/16', '192.168.0.0', '192.168.255.255'],
  ['direct delegation AS112', '192.175.48.0', '192.175.48.255'],
  ['benchmarking', '198.18.0.0', '198.19.255.255'],
  ['TEST-NET-2', '198.51.100.0', '198.51.100.255'],
  ['TEST-NET-3', '203.0.113.0', '203.0.113.255'],
  ['multicast', '224.0.0.0', '239.255.255.255'],
  ['reserved and broadcast', '240.0.0.0', '255.255.255.255'],
  ['unspecified and loopback', '::', '::1'],
  ['IPv4-compatible', '::2', '::ffff:ffff'],
  ['IPv4-translated', '::ffff:0:0:0', '::ffff:0:ffff:ffff'],
  ['local-use NAT64', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['local-use NAT64 that ends in a global address', '64:ff9b:1:a00:0:100:808:808', '64:ff9b:1::808:808'],
  ['discard-only', '100::', '100::ffff:ffff:ffff:ffff'],
  ['dummy prefix', '100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
  ['Teredo', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['port control, TURN, DNS-SD anycast', '2001:1::1', '2001:1::3'],
  ['benchmarking', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['AMT', '2001:3::', '2001:3:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['AS112-v6', '2001:4:112::', '2001:4:112:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHID', '2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHIDv2', '2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['drone remote id', '2001:30::', '2001:3f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['direct delegation AS112', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['segment routing', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link-local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['mapped loopback', '::ffff:127.0.0.1', '::ffff:7fff:ffff'],
  ['mapped metadata', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe'],
  ['NAT64 of a private address', '64:ff9b::10.0.0.1', '64:ff9b::c0a8:1'],
  ['6to4 of a private address', '2002:a00:1::', '2002:c0a8:101::1'],
]

test.each(SPECIAL)('%s is refused: %s to %s', (_, first, last) => {
  expect(addressRefusal(first, [])).toContain('--allow-net')
  expect(addressRefusal(last, [])).toContain('--allow-net')
})

test.each([
  ['just below 10/8', '9.255.255.255'],
  ['just above 10/8', '11.0.0.0'],
  ['just above CGNAT', '100.128.0.0'],
  ['just above 172.16/12', '172.32.0.0'],
  ['a name server', '8.8.8.8'],
  ['just below multicast', '223.255.255.255'],
  ['global unicast', '2606:4700::1111'],
  ['just above 2001::/23', '2001:200::'],
  ['NAT64 of a global address', '64:ff9b::808:808'],
  ['6to4 of a global address', '2002:808:808::1'],
  ['mapped global', '::ffff:8.8.8.8'],
])('%s may be called', (_, address) => {
  expect(addressRefusal(address, [])).toBeUndefined()
})

test.each([
  ['loopback opens 127/8', ['loopback'], '127.9.9.9', true],
  ['loopback opens ::1', ['loopback'], '::1', true],
  ['loopback opens a mapped one', ['loopback'], '::ffff:127.0.0.1', true],
  ['loopback opens nothing private', ['loopback'], '10.0.0.1', false],
  ['private opens the private nets', ['private'], '192.168.7.7', true],
  ['private opens unique local', ['private'], 'fd00::7', true],
  ['private does not open link-local', ['private'], '169.254.169.254', false],
  ['a CIDR opens link-local', ['169.254.0.0/16'], '169.254.1.1', true],
  ['10/8 opens 10.0.0.0/8', ['10/8'], '10.1.2.3', true],
  ['10/8 does not open this machine', ['10/8'], '0.0.0.0', false],
  ['172.16/12 opens its last address', ['172.16/12'], '172.31.255.255', true],
  ['192.168/16 opens its network', ['192.168/16'], '192.168.7.7', true],
  ['192.168/16 opens no other', ['192.168/16'], '192.0.0.168', false],
  ['169.254/16 opens link-local', ['169.254/16'], '169.254.1.1', true],
  ['this machine is opened by its name', ['0.0.0.0/8'], '0.0.0.0', true],
  ['a part of loopback is opened by its name', ['127.0.1.0/24'], '127.0.1.7', true],
  ['a part of loopback opens no other', ['127.0.1.0/24'], '127.0.0.1', false],
  ['a single address opens itself', ['10.0.0.5'], '10.0.0.5', true],
  ['a single address opens no neighbour', ['10.0.0.5'], '10.0.0.6', false],
])('%s', (_, nets, address, allowed) => {
  expect(addressRefusal(address, allowing(...nets)) === undefined).toBe(allowed)
  expect(newAddressGuard(allowing(...nets))(address) === undefined).toBe(allowed)
})

test.each([
  ['127.0.0.1', '--allow-net loopback'],
  ['10.0.0.1', '--allow-net private'],
  ['169.254.169.254', '--allow-net 169.254.169.254'],
])('the refusal of %s names the setting: %s', (address, setting) => {
  expect(addressRefusal(address, [])).toContain(setting)
})

test.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', 'fd00::7', '64:ff9b::10.1.2.3', '100.64.7.7'])(
  'why a name may not be called that is at %s reveals nothing of the address',
  (address) => {
    const reason = newAddressGuard([])(address) ?? ''
    expect(reason).toMatch(/^a (loopback|private|special) address: --allow-net .* allows it$/)
    expect(reason).not.toMatch(/\d/)
  },
)

test('a text that is not a network is reported', () => {
  expect(parseAllowList(['private', 'intranet'])).toMatchObject({ wrong: 'intranet' })
  expect(addressRefusal('nonsense', [])).toContain('nonsense is not an IP address')
})
