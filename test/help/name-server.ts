import { createSocket } from 'node:dgram'
import { getServers, setServers } from 'node:dns'

/** The answer of a name server for a name: addresses of both families, unknown, failed, or no answer at all. */
export type NameAnswer = readonly string[] | 'unknown' | 'failed' | 'nothing'

const A = 1
const AAAA = 28
const CODES: Readonly<Record<string, number>> = { failed: 2, unknown: 3 }

/** A name server (RFC 1035) that this process asks, and no other, until it is disposed of. */
export async function startNameServer(answerTo: (name: string, asked: number) => NameAnswer) {
  const questions = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query)
    const asked = (questions.get(name) ?? 0) + (type === A ? 1 : 0)
    questions.set(name, asked)
    const answer = answerTo(name, Math.max(1, asked))
    if (answer === 'nothing') return
    const family = type === AAAA ? (one: string) => one.includes(':') : (one: string) => !one.includes(':')
    const records = typeof answer === 'string' ? [] : answer.filter(family).map((one) => recordOf(type, one))
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (typeof answer === 'string' ? (CODES[answer] ?? 0) : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', () => resolve()))
  const before = getServers()
  setServers([`127.0.0.1:${socket.address().port}`])
  return {
    /** How often it was asked for the addresses of a name. */
    asked: (name: string): number => questions.get(name) ?? 0,
    [Symbol.dispose](): void {
      setServers(before)
      socket.close()
    },
  }
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** A record of the name that was asked for, which may be kept for no time at all. */
function recordOf(type: number, address: string): Buffer {
  const bytes = type === AAAA ? sixteen(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length])
  return Buffer.concat([head, bytes])
}

/** The bytes of an IPv6 address that is written with at most one `::`, and without an IPv4 tail. */
function sixteen(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [left, right] = [groups(before), groups(after)]
  const all = [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
