// Bun, Deno, or Node in a file .mjs: all events since the last run, then each new one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const headers = { authorization: `Bearer ${process.env.HOOKSWITCH_TOKEN}` }
let after = existsSync('cursor') ? `&after=${readFileSync('cursor', 'utf8')}` : ''
for (;;) {
  const response = await fetch(`${process.env.HOOKSWITCH_BASE_URL}/event?wait=20${after}`, { headers })
  const { message, result } = await response.json()
  if (!response.ok) throw new Error(message)
  for (const { id, event, call_id } of result.items) console.log(event, id, call_id) // `body` has the event
  writeFileSync('cursor', result.next_cursor) // once all of them are handled
  after = `&after=${result.next_cursor}`
}
