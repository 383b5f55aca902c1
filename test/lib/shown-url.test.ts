import { expect, test } from 'bun:test'
import { loggedUrl, shownUrl } from '../../src/lib/shown-url.ts'

test.each([
  ['https://crm.example.com/', 'https://crm.example.com/'],
  ['https://crm.example.com', 'https://crm.example.com/'],
  ['http://crm.example.com:8080/calls', 'http://crm.example.com:8080/calls'],
  ['https://crm.example.com/api2', 'https://crm.example.com/api2'],
  ['https://user:pass@crm.example.com/calls/', 'https://crm.example.com/calls/…'],
  ['https://crm.example.com/calls?token=1', 'https://crm.example.com/calls…'],
  ['https://crm.example.com/?token=1', 'https://crm.example.com/…'],
  ['https://crm.example.com/#part', 'https://crm.example.com/'],
  ['https://hooks.slack.com/services/T01/B02/abcdef', 'https://hooks.slack.com/services/…'],
  ['https://hooks.zapier.com/hooks/catch/12/ab/', 'https://hooks.zapier.com/hooks/…'],
  ['https://n8n.example.com/webhook/3f0b1d5c-0b7a-4e0e-9f7e-0d2f3f1c9a77', 'https://n8n.example.com/webhook/…'],
  ['https://api.telegram.org/bot123456:AbC/sendMessage', 'https://api.telegram.org/…'],
  ['https://webhook.site/3f0b1d5c-0b7a-4e0e-9f7e-0d2f3f1c9a77', 'https://webhook.site/…'],
  ['https://hook.example.com/aslkdjqwpoeimznxcbvpqowieur', 'https://hook.example.com/…'],
  ['mqtt://user:secret@broker.example/calls/{account}/{event}', 'mqtt://broker.example/calls/{account}/{event}'],
  ['mqtts://broker.example/{event}', 'mqtts://broker.example/{event}'],
  ['mqtts://broker.example/calls/t0k3n-4f5a6b7c8d9e/x', 'mqtts://broker.example/calls/…'],
  ['http://[2001:db8::1]:8080/crm/x', 'http://[2001:db8::1]:8080/crm/…'],
])('%s is logged as %s', (url, logged) => expect(loggedUrl(new URL(url))).toBe(logged))

test.each([
  ['https://crm.example.com/calls?token=1', 'https://crm.example.com/calls?token=1'],
  ['https://user:pa%2Fss@crm.example.com/', 'https://***@crm.example.com/'],
  ['mqtts://hookswitch:secret@broker.example/calls/{event}', 'mqtts://***@broker.example/calls/{event}'],
  ['mqtt://u:p@broker.example:1884/%7Baccount%7D/%7Bevent%7D', 'mqtt://***@broker.example:1884/{account}/{event}'],
  ['mqtt://broker.example/b%C3%BCro/%7Bpbx%7D', 'mqtt://broker.example/büro/{pbx}'],
  ['mqtt://broker.example/a%20b%2Fc%3F', 'mqtt://broker.example/a%20b%2Fc%3F'],
  ['mqtt://broker.example/100%25', 'mqtt://broker.example/100%25'],
  ['mqtt://broker.example/%FF', 'mqtt://broker.example/%FF'],
  ['no URL', 'no URL'],
])('%s is shown as %s', (url, shown) => expect(shownUrl(url)).toBe(shown))
