import { expect, test } from 'bun:test'
import { describeUserAgent } from '../../../src/web/browser/lib/user-agent.ts'

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)'

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [`${MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15`, 'Safari on macOS'],
  [`${MAC} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36`, 'Chrome on macOS'],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0', 'Edge on Windows'],
  ['Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/138.0.0.0 Mobile Safari/537.36', 'Chrome on Android'],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['Bun/1.4.5 (test)', 'Bun/1.4.5'],
  ['', 'unknown program'],
  [null, 'unknown program'],
])('the program of %p is %s', (userAgent, expected) => expect(describeUserAgent(userAgent)).toBe(expected))
