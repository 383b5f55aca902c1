import { join } from 'node:path'
import { Argument, type Command } from 'commander'
import { normalEmail, USER_TYPES, type UserType, userTypeName } from '../../auth/model.ts'
import { createPasswords, passwordProblem } from '../../auth/password.ts'
import { Fault } from '../../lib/fault.ts'
import { nowUs, rfc3339 } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { dataFlag, type StorePlace } from '../../ops/suggested-commands.ts'
import type { OperatorAct } from '../../store/operations/accounts.ts'
import { holderOf } from '../../store/sqlite/engine/folder-lock.ts'
import type { Store } from '../../store/store.ts'
import { noteAct } from '../note-act.ts'
import { placeOf, type StoreFlags, whereItExists, withExistingStore, withStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { readPassword } from '../password-prompt.ts'
import { print, printError, printJson } from '../print.ts'
import { printTable } from '../table.ts'

type Flags = StoreFlags & { json?: boolean; email: string; name: string; account: string; admin?: boolean }

/** The types of users as they are typed. */
const TYPES: Readonly<Record<string, UserType>> = { user: 'USER', admin: 'ADMIN' }
/** Printable, and short enough for a metric's label. */
const ACCOUNT_NAME = /^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,63}$/u
const EMAIL = /^[^\s@]+@[^\s@]+$/

/** Adds `hookswitch user`. */
export function userCommand(program: Command): void {
  const user = program.command('user').description('manage the users who can log in')
  const emailOption = () => ['--email <address>', "the user's e-mail address"] as const

  user
    .command('add')
    .description('add a user; the password is typed, or is one line of standard input')
    .requiredOption(...emailOption())
    .requiredOption('--name <name>', "the user's name")
    .option('--account <account>', 'the account of the user; it is created if it is new', 'default')
    .option('--admin', 'an administrator: may manage all PBXs in the web page and with the API')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(addUser)
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

async function addUser({ data, databaseUrl, json, email, name, account, admin }: Flags): Promise<void> {
  if (!EMAIL.test(normalEmail(email)) || email.length > 254)
    throw wrongUsage(`--email is ${JSON.stringify(email)}: give an address like anna@example.com`)
  if (name.trim() === '') throw wrongUsage("--name is empty: give the user's name")
  if (!ACCOUNT_NAME.test(account))
    throw wrongUsage(`--account is ${JSON.stringify(account)}: use at most 64 letters, digits, dots, dashes and spaces`)
  const taken = new Fault(
    'invalid',
    `${normalEmail(email)} already exists: change the password with hookswitch user passwd`,
  )
  // Before a person types a password twice for nothing.
  const before = await whereItExists({ data, databaseUrl }, ({ accounts }) => accounts.userList())
  if (before?.some((one) => one.email === normalEmail(email))) throw taken
  const passwordHash = await hashed(await readPassword())
  const fresh = {
    account,
    type: admin === true ? USER_TYPES.ADMIN : USER_TYPES.USER,
    name: name.trim(),
    email: normalEmail(email),
    passwordHash,
    atUs: nowUs(),
  }
  const made = await withStore({ data, databaseUrl }, async (store) => {
    const created = await store.accounts.userCreate(fresh)
    if (created === undefined) throw taken
    await noteAct(store, { event: admin ? 'admin_added' : 'user_added', email: fresh.email, account, facts: null })
    return created
  })
  // Standard output has only the id, for scripts; at a terminal it is a sentence.
  const id = process.stdout.isTTY === true ? `${fresh.email} was added, with the id ${made.id}.` : String(made.id)
  print(json ? JSON.stringify({ id: made.id }) : id)
  if (json || process.stderr.isTTY !== true) return
  const place = placeOf({ data, databaseUrl })
  const isServed = place.database === undefined && holderOf(join(data, 'lock')) !== undefined
  for (const line of afterUser({ email: fresh.email, account, isAdmin: admin === true, place, isServed }))
    printError(line)
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
  else print(type === 'ADMIN' ? 'The user is an administrator now.' : 'The user is no administrator now.')
}

async function changePassword({ data, databaseUrl, email, json }: Flags): Promise<void> {
  await withExistingStore({ data, databaseUrl }, (store) => userOf(store, normalEmail(email)))
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
  print(json ? JSON.stringify({ revoked: ended }) : `${ended} ${ended === 1 ? 'token was' : 'tokens were'} revoked.`)
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
  const known = normalEmail(email)
  return withExistingStore(flags, async (store) => {
    const user = await userOf(store, known)
    const done = await act(store, known)
    if (done === undefined) throw noSuchUser(known)
    await noteAct(store, { event, email: known, account: user.account, facts: null })
    return done
  })
}

/** Returns the user with an e-mail address. @throws Fault `not_found` if there is none. */
async function userOf({ accounts }: Store, email: string) {
  const user = (await accounts.userList()).find((one) => one.email === email)
  if (user === undefined) throw noSuchUser(email)
  return user
}

const noSuchUser = (email: string) =>
  new Fault('not_found', `there is no user ${email}: list the users with hookswitch user list`)

async function hashed(password: string): Promise<string> {
  const problem = passwordProblem(password)
  if (problem !== undefined) throw wrongUsage(`the password ${problem}`)
  return createPasswords().hash(password)
}

type AddedUser = {
  readonly email: string
  readonly account: string
  readonly isAdmin: boolean
  readonly place: StorePlace
  /** Whether a service is running on the store. */
  readonly isServed: boolean
}

/** Returns the instructions that follow after a user was added at a terminal. */
export function afterUser({ email, account, isAdmin, place, isServed }: AddedUser): string[] {
  const query = account === 'default' ? '' : `?account=${encodeURIComponent(account)}`
  const address = isServed ? 'to the running service' : 'at http://127.0.0.1:8080'
  const logIn = `${isServed ? 'Next:' : 'Then'} log in as ${email} ${address}`
  return [
    ...(isServed ? [] : [`Next: hookswitch serve${dataFlag(place)}`]),
    ...(isAdmin
      ? [`${logIn}: the page shows how to connect a PBX.`]
      : [
          `${logIn}, and add a webhook.`,
          `An administrator connects the PBX in the page, or: hookswitch pbx add${dataFlag(place)} 'ami://user:secret@host${query}'`,
        ]),
  ]
}
