import { emptyFolder } from './app.ts'

/** Mounts a small file system of this size on a folder. @throws when mounting is not allowed here. */
export function mountSmallDisk(path: string, size: string): { [Symbol.dispose](): void } {
  const { exitCode, stderr } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  if (exitCode !== 0) throw new Error(`a tmpfs cannot be mounted here: ${stderr}`)
  return { [Symbol.dispose]: () => void Bun.spawnSync(['umount', '-l', path]) }
}

/** Whether mounting is allowed here; otherwise tests that need it are skipped by name. */
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
