import { describe, expect, test } from 'bun:test'
import { remotePageLine } from '../../src/cli/suggested-commands.ts'

describe('how to open the page from another machine', () => {
  test.each([
    ['http://127.0.0.1:8080', {}, 'ssh -L 8080:127.0.0.1:8080 pbx,'],
    ['http://[::1]:9000', {}, 'ssh -L 9000:[::1]:9000 pbx,'],
  ])('is said for %s without a display', (url, env, command) => {
    expect(remotePageLine(url, { name: 'pbx', env })).toContain(command)
  })

  test.each([
    ['http://127.0.0.1:8080', { DISPLAY: ':0' }],
    ['http://127.0.0.1:8080', { WAYLAND_DISPLAY: 'wayland-0' }],
    ['http://192.0.2.1:8080', {}],
  ])('is not said for %s with %j', (url, env) => {
    expect(remotePageLine(url, { name: 'pbx', env })).toBeUndefined()
  })
})
