import { describe, expect, test } from 'bun:test'
import { afterPbxSetup, remotePageLine } from '../../src/cli/suggested-commands.ts'

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

describe('after a PBX was set up the next step is printed', () => {
  const place = { dataPath: './data' }
  test.each([
    [
      'where nobody can log in',
      { users: 0, isServed: false, isPackaged: false },
      [/^Next: hookswitch user add --admin /, /^Then: hookswitch serve$/],
    ],
    [
      'where the service is not started',
      { users: 1, isServed: false, isPackaged: false },
      [/^Next: hookswitch serve$/],
    ],
    [
      'of a package',
      { users: undefined, isServed: false, isPackaged: true },
      [/^Next: systemctl enable --now hookswitch$/],
    ],
    ['beside a service', { users: 2, isServed: true, isPackaged: true }, []],
  ])('%s', (_, given, lines) => {
    const printed = afterPbxSetup({ place, ...given })
    const last = [
      /^(Next|Then): log in to the page, then call one phone from another: the page shows the call$/,
      /add one in the page/,
    ]
    expect(printed).toHaveLength(lines.length + last.length)
    for (const [index, line] of [...lines, ...last].entries()) expect(printed[index]).toMatch(line)
    expect(printed.filter((line) => line.startsWith('Next: '))).toHaveLength(1)
  })
})
