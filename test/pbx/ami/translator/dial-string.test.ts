import { expect, test } from 'bun:test'
import { endpointOf, readDialString } from '../../../../src/pbx/ami/dial-string.ts'

test.each([
  ['PJSIP/trunk-000000f6', 'PJSIP/trunk'],
  ['PJSIP/carrier-eu-1-000000f6', 'PJSIP/carrier-eu-1'],
  ['SIP/192.0.2.1-0000abcd', 'SIP/192.0.2.1'],
  ['DAHDI/1-1', 'DAHDI/1'],
  ['DAHDI/i1/15551230001-2', 'DAHDI/i1'],
  ['Local/102@from-internal-0000000f;1', 'Local/102@from-internal'],
])('the endpoint of the channel %s is %s: without the number of the other party', (channel, endpoint) => {
  expect(endpointOf(channel).endpoint).toBe(endpoint)
})

test.each([
  ['101', 'PJSIP', 'PJSIP/101', null, false],
  ['PJSIP/101', 'PJSIP', 'PJSIP/101', null, false],
  ['15557654321@trunk', 'PJSIP', 'PJSIP/trunk', '15557654321', false],
  ['trunk/15557654321', 'SIP', 'SIP/trunk', '15557654321', false],
  ['trunk/sip:15557654321@192.0.2.1:5060', 'PJSIP', 'PJSIP/trunk', '15557654321', true],
  ['101/sip:101@192.0.2.1:5060;transport=udp', 'PJSIP', 'PJSIP/101', '101', true],
  ['101/sip:192.0.2.1', 'PJSIP', 'PJSIP/101', null, false],
  ['101/sip:101;x=y@192.0.2.1', 'PJSIP', 'PJSIP/101', null, false],
  ['i1/5551234', 'DAHDI', 'DAHDI/i1', '5551234', false],
])('%s of %s rings %s', (dialString, technology, endpoint, sent, uri) => {
  expect(readDialString(dialString, technology)).toEqual({ endpoint, sent, uri })
})
