import { emptyFolder } from './app.ts'

/** Puts a file system of its own, of that size, onto a folder. @throws when the system does not let us. */
export function mountSmallDisk(path: string, size: string): { [Symbol.dispose](): void } {
  const { exitCode, stderr } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  if (exitCode !== 0) throw new Error(`a tmpfs cannot be mounted here: ${stderr}`)
  return { [Symbol.dispose]: () => void Bun.spawnSync(['umount', '-l', path]) }
}

/** Whether the system lets us; what needs it is skipped by name where it does not. */
export const canMount = tryToMount()

function tryToMount(): boolean {
  using folder = emptyFolder()
  try {
    using _disk = mountSmallDisk(folder.path, '1m')
    return true
  } catch {
    return false
  }
}
