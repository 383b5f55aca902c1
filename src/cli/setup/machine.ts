import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The facts of a machine that a setup needs. Paths are absolute. */
export type Machine = {
  /** Returns a file's text, `undefined` if the file does not exist. @throws Error if it cannot be read. */
  read(path: string): string | undefined
  exists(path: string): boolean
  /** Returns the name of the group that owns a path. */
  groupOf(path: string): string | undefined
  /** Returns whether a user of the system may read a folder, by its group or by everybody's permissions. */
  mayRead(user: string, path: string): boolean
  hasUser(name: string): boolean
}

/** Returns this machine; `root`: the folder that has its files. */
export function thisMachine(root = '/'): Machine {
  const at = (path: string) => join(root, path)
  const lines = (path: string) => {
    try {
      return readFileSync(at(path), 'utf8').split('\n')
    } catch {
      return []
    }
  }
  const passwd = () => lines('/etc/passwd').map((line) => line.split(':'))
  const groups = () => lines('/etc/group').map((line) => line.split(':'))
  const groupOf = (path: string): string | undefined => {
    const gid = String(statSync(at(path)).gid)
    return groups().find(([, , id]) => id === gid)?.[0]
  }
  return {
    read(path) {
      try {
        return readFileSync(at(path), 'utf8')
      } catch (error) {
        if (!existsSync(at(path))) return undefined
        throw error
      }
    },
    exists: (path) => existsSync(at(path)),
    groupOf,
    mayRead(user, path) {
      const [, , id, main] = passwd().find(([name]) => name === user) ?? []
      const isIn = (gid: number) =>
        main === String(gid) ||
        groups().some(([, , group, members = '']) => group === String(gid) && members.split(',').includes(user))
      const has = (right: number, folder: string): boolean => {
        const { mode, uid, gid } = statSync(at(folder))
        const shift = id === String(uid) ? 6 : isIn(gid) ? 3 : 0
        return ((mode >> shift) & right) === right
      }
      return has(READ | ENTER, path) && parentsOf(path).every((folder) => has(ENTER, folder))
    },
    hasUser: (name) => passwd().some(([one]) => one === name),
  }
}

const READ = 4
const ENTER = 1

const parentsOf = (path: string): string[] => (path === '/' ? [] : [dirname(path), ...parentsOf(dirname(path))])

/** Returns whether this process may write a file, or create it in its folder. */
export function isWritable(path: string): boolean {
  try {
    accessSync(existsSync(path) ? path : join(path, '..'), constants.W_OK)
    return true
  } catch {
    return false
  }
}
