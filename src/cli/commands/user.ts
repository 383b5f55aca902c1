import { randomInt } from 'node:crypto'
import { Argument, type Command } from 'commander'
import {
  type LoggedOut,
  type NewUser,
  normalEmail,
  passwordProblem,
  type User,
  type UserWithLink,
  userWithEmail,
} from '../../auth/auth.ts'
import { accountKey } from '../../lib/account-key.ts'
import { Fault } from '../../lib/fault.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { DEFAULT_ACCOUNT, type NamedUser, TYPES, userProblem } from '../new-user.ts'
import { hasStore, storePlaceOf } from '../open-store.ts'
import { withStoreOptions } from '../options.ts'
import { readPassword } from '../password-prompt.ts'
import { counted, print, printError, printJson } from '../print.ts'
import { type Service, type ServiceFlags, withService } from '../service.ts'
import { afterUser } from '../suggested-commands.ts'
import { printTable } from '../table.ts'

type LinkFlags = { link?: boolean; publicUrl?: string }
type Flags = ServiceFlags & LinkFlags & { json?: boolean; email: string }
type AddFlags = ServiceFlags &
  LinkFlags & {
    json?: boolean
    email?: string
    name?: string
    account?: string
    admin?: boolean
    from?: string
  }

/** Adds `hookswitch user`. */
export function userCommand(program: Command): void {
  const user = program.command('user').description('manage the users who can log in')
  const emailOption = () => ['--email <address>', "the user's e-mail address"] as const

  const add = user
    .command('add')
    .description('add a user; the password is typed, or is one line of standard input')
    .option(...emailOption())
    .option('--name <name>', "the user's name")
    .option('--account <account>', `the account of the user; it is created if it is new (default: ${DEFAULT_ACCOUNT})`)
    .option('--admin', 'an administrator: may manage users and PBXs in the web page and with the API')
    .option(
      '--from <file>',
      'add the users of a CSV file (-: standard input), lines of account,name,email,kind (user or admin); ' +
        'each gets a password, which is printed once',
    )
  withLinkOptions(withStoreOptions(add)).action(async ({ from, ...flags }: AddFlags) => {
    if (from === undefined) return await addUser(flags)
    if ([flags.email, flags.name, flags.account, flags.admin, flags.link].some((given) => given !== undefined))
      throw wrongUsage(
        '--from has all users with their accounts: give it without --email, --name, --account, --admin, --link',
      )
    return await addUsers(from, flags)
  })
  withStoreOptions(user.command('list').description('list all users')).action(showUsers)
  const type = user
    .command('type')
    .addArgument(new Argument('<type>', 'the new type of the user').choices(Object.keys(TYPES)))
    .description('make a user an administrator, who may manage users and PBXs, or an ordinary user again')
    .requiredOption(...emailOption())
  withStoreOptions(type).action(changeType)
  const passwd = user
    .command('passwd')
    .description('set a new password; it is typed, or is one line of standard input')
    .requiredOption(...emailOption())
  withLinkOptions(withStoreOptions(passwd)).action(changePassword)
  for (const [name, description, action] of [
    ['remove', 'remove a user and all its tokens', dropUser],
    ['logout', 'revoke all tokens of a user', logOut],
  ] as const) {
    const command = user
      .command(name)
      .description(description)
      .requiredOption(...emailOption())
    withStoreOptions(command).action(action)
  }
}

/** Gives a command the flags for a link in place of a password, and returns it. */
const withLinkOptions = (command: Command): Command =>
  command
    .option('--link', 'print a link with which the user chooses the password: once, within 3 days')
    .option('--public-url <url>', 'where the link leads if no service runs, as for serve')

/** Returns the settings of this process for a link. */
const linkSettings = ({ publicUrl }: LinkFlags) => (publicUrl === undefined ? {} : { settings: { publicUrl } })

async function addUser(given: AddFlags): Promise<void> {
  const { email = '', name = '', account, admin = false, link = false, json, publicUrl: _, ...flags } = given
  for (const [flag, given] of [
    ['email', email],
    ['name', name],
  ])
    if (given === '') throw wrongUsage(`--${flag} is missing: see hookswitch user add --help`)
  const known = normalEmail(email)
  const problem = userProblem({ account: account ?? DEFAULT_ACCOUNT, name, email: known, type: 'USER' })
  if (problem !== undefined) throw wrongUsage(`--${problem}`)
  // Before a person types a password twice for nothing.
  const before = hasStore(flags) ? await withService(flags, usersOf) : []
  if (before.some((one) => normalEmail(one.email) === known)) throw takenFault(known)
  const password = link ? undefined : await newPassword()
  const { added, isRunning } = await withService(
    flags,
    async (service) => ({
      added: await addOne(service, {
        ...(account && { account }),
        name,
        email,
        type: admin ? 'ADMIN' : 'USER',
        ...(password !== undefined && { password }),
      }),
      isRunning: service.isRunning,
    }),
    { mayCreate: true, ...linkSettings(given) },
  )
  if (json) return printJson(added)
  // Standard output has only the id, for scripts; at a terminal it is a sentence.
  const isExact = account === undefined || added.account === account
  const sentence = `${added.email} was added to the account ${added.account}${isExact ? '' : ', its exact name'}, with the id ${added.id}.`
  if (added.link !== undefined) {
    printError(sentence)
    printLink(added.link)
  } else if (process.stdout.isTTY === true) print(sentence)
  else {
    print(String(added.id))
    printError(sentence)
  }
  if (process.stderr.isTTY !== true) return
  const next = { email: added.email, account: added.account, isAdmin: admin, place: storePlaceOf(flags) }
  for (const line of afterUser({ ...next, isServed: isRunning })) printError(line)
}

const takenFault = (email: string) =>
  new Fault('conflict', `${email} already exists: change the password with hookswitch user passwd`)

/** Standard output has only the link, for scripts. */
function printLink(link: string): void {
  print(link)
  printError('With this link the user chooses the password: once, within 3 days. It is shown only here.')
}

/** Adds a user. @throws Fault if the e-mail address is taken. */
async function addOne(service: Service, user: NewUser): Promise<UserWithLink> {
  const added = await service.ask<UserWithLink>('POST', '/user', { body: user }).catch((cause) => {
    throw cause instanceof Fault && cause.code === 'conflict' ? takenFault(normalEmail(user.email)) : cause
  })
  return added.result
}

const usersOf = async (service: Service): Promise<User[]> => (await service.ask<User[]>('GET', '/user')).result

/** Users whose passwords are hashed at the same time. */
const HASHED_AT_ONCE = 4

/** Adds the users of a file. Each one's password is printed as soon as the user is stored. */
async function addUsers(path: string, { json, ...flags }: AddFlags): Promise<void> {
  // The other commands start without it.
  const { readUserFile } = await import('../user-file.ts')
  const users = await readUserFile(path)
  const added: { account: string; name: string; email: string; kind: string; password: string }[] = []
  const existing = await withService(
    flags,
    async (service) => {
      const known = new Map((await usersOf(service)).map((one) => [normalEmail(one.email), one]))
      const elsewhere = users.filter(({ email, account }) => {
        const there = known.get(email)?.account
        return there !== undefined && accountKey(there) !== accountKey(account)
      })
      if (elsewhere.length > 0)
        throw new Fault(
          'conflict',
          `no user was added: ${elsewhere.map(({ email }) => `${email} is in the account ${known.get(email)?.account}`).join('; ')}`,
        )
      const fresh = users.filter(({ email }) => !known.has(email))
      if (!json && fresh.length > 0) print('account,name,email,kind,password')
      try {
        for (let at = 0; at < fresh.length; at += HASHED_AT_ONCE)
          await addSome(service, fresh.slice(at, at + HASHED_AT_ONCE))
      } finally {
        // Printed even after an error, for the users added before it: a password is printed only once.
        if (json) printJson(added)
      }
      return users.length - fresh.length
    },
    { mayCreate: true },
  )

  async function addSome(service: Service, some: readonly NamedUser[]): Promise<void> {
    const passwords = some.map(() => randomPassword())
    const made = await Promise.allSettled(
      some.map((user, at) => addOne(service, { ...user, password: passwords[at] ?? '' })),
    )
    for (const [at, one] of made.entries()) {
      if (one.status === 'rejected') continue
      const { account, name, email, type } = one.value
      const line = { account, name, email, kind: type.toLowerCase(), password: passwords[at] ?? '' }
      added.push(line)
      if (!json) print(Object.values(line).map(csvCell).join(','))
    }
    for (const one of made) if (one.status === 'rejected') throw one.reason
  }
  if (existing > 0) printError(`${counted(existing, 'user')} of the file already existed, and did not change.`)
  printError(
    `${counted(added.length, 'user')} added.${added.length > 0 ? ' The passwords are shown only here: each user can change it after the first login.' : ''}`,
  )
}

const csvCell = (text: string): string => (/[",;\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Without letters and digits that look alike. */
const PASSWORD_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const PASSWORD_CHARACTERS = 20

/** Returns a random password of some 99 bits, in groups that people can type. */
function randomPassword(): string {
  const characters = Array.from(
    { length: PASSWORD_CHARACTERS },
    () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)],
  )
  return characters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

async function showUsers({ json, ...flags }: Flags): Promise<void> {
  const users = await withService(flags, usersOf)
  if (json) return printJson(users)
  const columns = ['id', 'email', 'name', 'account', 'type', 'created_at', 'last_login_at'] as const
  printTable(
    columns,
    users.map((user) => columns.map((column) => user[column])),
    { whenEmpty: NO_USER },
  )
}

const NO_USER = 'There is no user: hookswitch user add --admin --email you@example.com --name You adds one.'

async function changeType(given: string, { email, json, ...flags }: Flags): Promise<void> {
  const type = TYPES[given] ?? 'USER'
  const changed = await toUser(flags, email, (service, id) =>
    service.ask<User>('PATCH', `/user/${id}`, { body: { type } }),
  )
  if (json) printJson(changed.result)
  else print(type === 'ADMIN' ? 'The user is an administrator now.' : 'The user is an ordinary user now.')
}

async function changePassword(given: Flags): Promise<void> {
  const { email, json, link = false, publicUrl: _, ...flags } = given
  if (link) {
    const { result } = await withService(
      flags,
      async (service) => service.ask<UserWithLink>('POST', `/user/${(await userOf(service, email)).id}/link`),
      linkSettings(given),
    )
    return json ? printJson(result) : printLink(result.link ?? '')
  }
  const user = await withService(flags, (service) => userOf(service, email))
  // Typing takes a while: the store is not kept open meanwhile.
  const password = await newPassword()
  const { result } = await withService(flags, (service) =>
    service.ask<User>('PATCH', `/user/${user.id}`, { body: { password } }),
  )
  if (json) printJson(result)
  else print('The password was changed. Tokens stay valid; revoke them with hookswitch user logout.')
}

async function dropUser({ email, json, ...flags }: Flags): Promise<void> {
  const { result } = await toUser(flags, email, (service, id) => service.ask('DELETE', `/user/${id}`))
  if (json) printJson(result)
  else print('The user was removed.')
}

async function logOut({ email, json, ...flags }: Flags): Promise<void> {
  const { result } = await toUser(flags, email, (service, id) => service.ask<LoggedOut>('POST', `/user/${id}/logout`))
  if (json) printJson(result)
  else print(`${counted(result.revoked, 'token was', 'tokens were')} revoked.`)
}

/** Does something to a user, whom people know by the address. @throws Fault `not_found` if there is no such user. */
const toUser = <Result>(
  flags: ServiceFlags,
  email: string,
  act: (service: Service, id: number) => Promise<Result>,
): Promise<Result> => withService(flags, async (service) => act(service, (await userOf(service, email)).id))

/**
 * Returns the user with an e-mail address.
 * @throws Fault `not_found` if no user has it; `conflict` if several have it in spellings that look the same.
 */
async function userOf(service: Service, email: string): Promise<User> {
  const found = userWithEmail(await usersOf(service), email)
  if (found === undefined)
    throw new Fault('not_found', `there is no user ${normalEmail(email)}: list the users with hookswitch user list`)
  if (found === 'several')
    throw new Fault(
      'conflict',
      `several users have ${normalEmail(email)} in spellings that look the same: copy the address from hookswitch user list`,
    )
  return found.user
}

/** Reads a password. @throws CommanderError (exit code 2) if it is not acceptable. */
async function newPassword(): Promise<string> {
  const password = await readPassword()
  const problem = passwordProblem(password)
  if (problem !== undefined) throw wrongUsage(`the password ${problem}`)
  return password
}
