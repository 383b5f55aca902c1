import { randomInt } from 'node:crypto'
import { Argument, type Command } from 'commander'
import {
  createPasswords,
  normalEmail,
  passwordProblem,
  USER_TYPES,
  userTypeName,
  userWithEmail,
} from '../../auth/auth.ts'
import { accountKey } from '../../lib/account-key.ts'
import { Fault } from '../../lib/fault.ts'
import { comparedText } from '../../lib/text.ts'
import { nowUs, rfc3339 } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import type { OperatorAct } from '../../store/operations/accounts.ts'
import type { Store } from '../../store/store.ts'
import { DEFAULT_ACCOUNT, type NamedUser, TYPES, userProblem } from '../new-user.ts'
import { noteAct } from '../note-act.ts'
import { type StoreFlags, storePlaceOf, whereItExists, withExistingStore, withStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { readPassword } from '../password-prompt.ts'
import { counted, print, printError, printJson } from '../print.ts'
import { isHeld } from '../running-service.ts'
import { afterUser } from '../suggested-commands.ts'
import { printTable } from '../table.ts'

type Flags = StoreFlags & { json?: boolean; email: string }
type AddFlags = StoreFlags & {
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

  user
    .command('add')
    .description('add a user; the password is typed, or is one line of standard input')
    .option(...emailOption())
    .option('--name <name>', "the user's name")
    .option('--account <account>', `the account of the user; it is created if it is new (default: ${DEFAULT_ACCOUNT})`)
    .option('--admin', 'an administrator: may manage all PBXs in the web page and with the API')
    .option(
      '--from <file>',
      'add the users of a CSV file (-: standard input), lines of account,name,email,kind (user or admin); ' +
        'each gets a password, which is printed once',
    )
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ from, ...flags }: AddFlags) => {
      if (from === undefined) return await addUser(flags)
      if ([flags.email, flags.name, flags.account, flags.admin].some((given) => given !== undefined))
        throw wrongUsage(
          '--from has all users with their accounts: give it without --email, --name, --account, --admin',
        )
      return await addUsers(from, flags)
    })
  user
    .command('list')
    .description('list all users')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(showUsers)
  user
    .command('type')
    .addArgument(new Argument('<type>', 'the new type of the user').choices(Object.keys(TYPES)))
    .description('make a user an administrator, who may manage all PBXs, or an ordinary user again')
    .requiredOption(...emailOption())
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(changeType)
  for (const [name, description, action] of [
    ['passwd', 'set a new password; it is typed, or is one line of standard input', changePassword],
    ['remove', 'remove a user and all its tokens', dropUser],
    ['logout', 'revoke all tokens of a user', logOut],
  ] as const)
    user
      .command(name)
      .description(description)
      .requiredOption(...emailOption())
      .addOption(dataOption())
      .addOption(databaseOption())
      .addOption(jsonOption())
      .action(action)
}

async function addUser({ data, databaseUrl, json, ...given }: AddFlags): Promise<void> {
  const { email = '', name = '', account = DEFAULT_ACCOUNT, admin = false } = given
  for (const flag of ['email', 'name'] as const)
    if (given[flag] === undefined) throw wrongUsage(`--${flag} is missing: see hookswitch user add --help`)
  const user: NamedUser = {
    account: comparedText(account.trim()),
    name: name.trim(),
    email: normalEmail(email),
    type: admin ? 'ADMIN' : 'USER',
  }
  const problem = userProblem(user)
  if (problem !== undefined) throw wrongUsage(`--${problem}`)
  // Before a person types a password twice for nothing.
  const before = await whereItExists({ data, databaseUrl }, ({ accounts }) => accounts.userList())
  if (before?.some((one) => normalEmail(one.email) === user.email)) throw takenFault(user.email)
  const passwordHash = await hashed(await readPassword())
  const made = await withStore({ data, databaseUrl }, (store) => createUser(store, user, passwordHash))
  if (made === undefined) throw takenFault(user.email)
  // Standard output has only the id, for scripts; at a terminal it is a sentence.
  const place = `to the account ${made.account}${made.account === account ? '' : ', its exact name'}`
  const sentence = `${user.email} was added ${place}, with the id ${made.id}.`
  if (json) return print(JSON.stringify({ id: made.id, account: made.account }))
  if (process.stdout.isTTY === true) print(sentence)
  else {
    print(String(made.id))
    printError(sentence)
  }
  if (process.stderr.isTTY !== true) return
  const storePlace = storePlaceOf({ data, databaseUrl })
  const isServed = storePlace.database === undefined && isHeld(data)
  const added = { email: user.email, account: made.account, isAdmin: admin, place: storePlace, isServed }
  for (const line of afterUser(added)) printError(line)
}

const takenFault = (email: string) =>
  new Fault('invalid', `${email} already exists: change the password with hookswitch user passwd`)

/** Creates a user in the account of this name, in any case. Returns `undefined` if the e-mail address exists. */
async function createUser(
  store: Store,
  { account: wanted, type, name, email }: NamedUser,
  passwordHash: string,
): Promise<{ id: number; account: string } | undefined> {
  const fresh = { account: wanted, type: USER_TYPES[type], name, email, passwordHash, atUs: nowUs() }
  const created = await store.accounts.userCreate(fresh)
  if (created === undefined) return undefined
  const { account } = created
  await noteAct(store, { event: type === 'ADMIN' ? 'admin_added' : 'user_added', email, account, facts: null })
  return created
}

/** Users whose passwords are hashed at the same time. */
const HASHED_AT_ONCE = 4

/** Adds the users of a file. Each one's password is printed as soon as the user is stored. */
async function addUsers(path: string, { data, databaseUrl, json }: AddFlags): Promise<void> {
  // The other commands start without it.
  const { readUserFile } = await import('../user-file.ts')
  const users = await readUserFile(path)
  const added: { account: string; name: string; email: string; kind: string; password: string }[] = []
  const existing = await withStore({ data, databaseUrl }, async (store) => {
    const known = new Map((await store.accounts.userList()).map((one) => [normalEmail(one.email), one]))
    const elsewhere = users.filter(({ email, account }) => {
      const there = known.get(email)?.account
      return there !== undefined && accountKey(there) !== accountKey(account)
    })
    if (elsewhere.length > 0)
      throw new Fault(
        'invalid',
        `no user was added: ${elsewhere.map(({ email }) => `${email} is in the account ${known.get(email)?.account}`).join('; ')}`,
      )
    const fresh = users.filter(({ email }) => !known.has(email))
    if (!json && fresh.length > 0) print('account,name,email,kind,password')
    try {
      for (let at = 0; at < fresh.length; at += HASHED_AT_ONCE)
        await addSome(store, fresh.slice(at, at + HASHED_AT_ONCE))
    } finally {
      // Printed even after an error, for the users added before it: a password is printed only once.
      if (json) printJson(added)
    }
    return users.length - fresh.length
  })

  async function addSome(store: Store, some: readonly NamedUser[]): Promise<void> {
    const passwords = some.map(() => newPassword())
    const hashes = await Promise.all(passwords.map(hashed))
    for (const [at, user] of some.entries()) {
      const [password = '', passwordHash = ''] = [passwords[at], hashes[at]]
      const made = await createUser(store, user, passwordHash)
      if (made === undefined) throw takenFault(user.email)
      const { name, email, type } = user
      const line = { account: made.account, name, email, kind: type.toLowerCase(), password }
      added.push(line)
      if (!json) print(Object.values(line).map(csvCell).join(','))
    }
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
function newPassword(): string {
  const characters = Array.from(
    { length: PASSWORD_CHARACTERS },
    () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)],
  )
  return characters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

async function showUsers({ data, databaseUrl, json }: Flags): Promise<void> {
  const rows = (await withExistingStore({ data, databaseUrl }, ({ accounts }) => accounts.userList())).map((row) => ({
    id: row.id,
    email: row.email,
    name: row.name,
    account: row.account,
    type: userTypeName(row.type),
    created_at: rfc3339(row.createdUs),
  }))
  if (json) printJson(rows)
  else printTable(Object.keys(rows[0] ?? {}), rows.map(Object.values), { whenEmpty: NO_USER })
}

const NO_USER = 'There is no user: hookswitch user add --admin --email you@example.com --name You adds one.'

async function changeType(given: string, { data, databaseUrl, email, json }: Flags): Promise<void> {
  const type = TYPES[given] ?? 'USER'
  const event = type === 'ADMIN' ? 'user_made_admin' : 'admin_made_user'
  await toUser({ data, databaseUrl }, email, event, async ({ accounts }, known) =>
    (await accounts.userSetType({ email: known, type: USER_TYPES[type] })) ? true : undefined,
  )
  if (json) print(JSON.stringify({ type }))
  else print(type === 'ADMIN' ? 'The user is an administrator now.' : 'The user is an ordinary user now.')
}

async function changePassword({ data, databaseUrl, email, json }: Flags): Promise<void> {
  await withExistingStore({ data, databaseUrl }, (store) => userOf(store, email))
  // Typing takes a while: the store is not kept open meanwhile.
  const passwordHash = await hashed(await readPassword())
  await toUser({ data, databaseUrl }, email, 'user_password_set', async ({ accounts }, known) =>
    (await accounts.userSetPassword({ email: known, passwordHash })) ? true : undefined,
  )
  print(json ? '{}' : 'The password was changed. Tokens stay valid; revoke them with hookswitch user logout.')
}

async function dropUser({ data, databaseUrl, email, json }: Flags): Promise<void> {
  await toUser({ data, databaseUrl }, email, 'user_removed', async ({ accounts }, known) =>
    (await accounts.userDelete(known)) ? true : undefined,
  )
  print(json ? '{}' : 'The user was removed.')
}

async function logOut({ data, databaseUrl, email, json }: Flags): Promise<void> {
  const ended = await toUser({ data, databaseUrl }, email, 'user_logged_out', ({ accounts }, known) =>
    accounts.tokenDeleteOfUser(known),
  )
  print(json ? JSON.stringify({ revoked: ended }) : `${counted(ended, 'token was', 'tokens were')} revoked.`)
}

/**
 * Changes a user, and stores the act for the log of security events.
 * @throws Fault `not_found` if there is no such user.
 */
function toUser<Result>(
  flags: StoreFlags,
  email: string,
  event: OperatorAct['event'],
  act: (store: Store, email: string) => Promise<Result | undefined>,
): Promise<Result> {
  return withExistingStore(flags, async (store) => {
    const user = await userOf(store, email)
    const done = await act(store, user.email)
    if (done === undefined) throw noSuchUser(user.email)
    await noteAct(store, { event, email: user.email, account: user.account, facts: null })
    return done
  })
}

/**
 * Returns the user with an e-mail address.
 * @throws Fault `not_found` if no user has it; `conflict` if several have it in spellings that look the same.
 */
async function userOf({ accounts }: Store, email: string) {
  const found = userWithEmail(await accounts.userList(), email)
  if (found === undefined) throw noSuchUser(normalEmail(email))
  if (found === 'several')
    throw new Fault(
      'conflict',
      `several users have ${normalEmail(email)} in spellings that look the same: copy the address from hookswitch user list`,
    )
  return found.user
}

const noSuchUser = (email: string) =>
  new Fault('not_found', `there is no user ${email}: list the users with hookswitch user list`)

async function hashed(password: string): Promise<string> {
  const problem = passwordProblem(password)
  if (problem !== undefined) throw wrongUsage(`the password ${problem}`)
  return createPasswords().hash(password)
}
