import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasCertificates, readCertificates } from '../../src/lib/certificate-file.ts'
import { emptyFolder } from '../help/app.ts'
import { newAuthority } from '../help/certificate.ts'

const folder = emptyFolder()
afterAll(() => folder[Symbol.dispose]())
const at = (name: string) => join(folder.path, name)

test('a file of certificates is read', () => {
  const { pem } = newAuthority('test')
  writeFileSync(at('ca.pem'), pem)
  expect(readCertificates(at('ca.pem'))).toBe(pem)
  expect(hasCertificates(at('ca.pem'))).toBe(true)
})

test('a file without an end, with other content, or of more than the limit is not', () => {
  mkdirSync(at('folder'))
  writeFileSync(at('text'), 'some text')
  writeFileSync(at('large'), '-----BEGIN CERTIFICATE-----'.padEnd(5_000_000))
  Bun.spawnSync(['mkfifo', at('pipe')])
  for (const path of ['/dev/zero', '/dev/stdin', at('pipe'), at('folder'), at('text'), at('large'), at('none')]) {
    expect(hasCertificates(path)).toBe(false)
    expect(() => readCertificates(path)).toThrow()
  }
})
