import { expect, test } from 'bun:test'
import { ByteBuffer } from '../../../src/pbx/connection/byte-buffer.ts'

test('bytes that were read do not change when more are appended and dropped later', () => {
  const buffer = new ByteBuffer()
  const read: { bytes: Buffer; text: string }[] = []
  let text = ''
  for (let chunk = 0; chunk < 200; chunk++) {
    const part = String.fromCharCode(97 + (chunk % 26)).repeat(1 + (chunk % 7))
    buffer.append(Buffer.from(part))
    text += part
    const length = Math.min(buffer.length, chunk % 5)
    read.push({ bytes: buffer.bytes.subarray(0, length), text: text.slice(buffer.offset, buffer.offset + length) })
    buffer.drop(length)
  }
  expect(read.map(({ bytes }) => bytes.toString())).toEqual(read.map((one) => one.text))
  expect(buffer.bytes.toString('utf8', 0, buffer.length)).toBe(text.slice(buffer.offset))
})
