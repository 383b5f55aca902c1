import { connect } from 'node:net'

/** Connects to a server as a client that writes its requests by hand. `state` has all that came, and whether the other end has closed. */
export function connectByHand(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const state = { text: '', closed: false }
  socket.on('data', (chunk) => {
    state.text += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    state.closed = true
  })
  return { socket, state, [Symbol.dispose]: () => void socket.destroy() }
}
