import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import type { User } from '../../auth/auth.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { checkPbx, maskPbxUrl } from '../../pbx/pbx.ts'
import { gatewaysText, parsePbxUrl } from '../../pbx/source/pbx-url.ts'
import { accountsIn } from '../account-names.ts'
import { storePlaceOf } from '../open-store.ts'
import { controlOption, databaseOption, dataOption } from '../options.ts'
import { print } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'
import { checkUnchanged, deleteRecord, readRecord, undoChanges, writeChanges, writeRecord } from '../setup/apply.ts'
import { customersCsv, type FusionPbx, findFusionPbx, readDomains, readGateways } from '../setup/fusionpbx.ts'
import { isWritable, type Machine, thisMachine } from '../setup/machine.ts'
import { type FoundPbx, findPbxs, planFor, SERVICE_USER, type SetupPlan } from '../setup/plan.ts'
import { afterPbxSetup } from '../suggested-commands.ts'

type Flags = ServiceFlags & {
  name: string
  account?: string
  user: string
  config?: string
  customers?: string
  calls?: boolean
  yes?: boolean
  dryRun?: boolean
  undo?: boolean
}

/** The folder of the packages. */
const PACKAGE_DATA = '/var/lib/hookswitch'

/** Adds `hookswitch pbx setup`, for the machine on which the PBX runs. */
export function setupCommand(pbx: Command): void {
  pbx
    .command('setup')
    .description(
      'on the machine of the PBX: find Asterisk (FreePBX, Issabel) or FreeSWITCH (FusionPBX), show each line to write, and after a yes ' +
        'write it, reload, add the PBX and check it',
    )
    .option('--name <name>', 'the name of the PBX in events', 'office')
    .option('--account <account>', 'the account of its calls; default: the first one, on FusionPBX each domain its own')
    .option('--user <user>', 'the user of the Asterisk manager interface to make', 'hookswitch')
    .option('--config <folder>', 'the folder of the configuration, if it is not the usual one')
    .option('--customers <file>', 'FusionPBX: write its domains to a new file, for hookswitch user add --from')
    .option('--calls', 'let calls be made: Asterisk gets a second user for it, who reads nothing')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'show the changes without making them')
    .option('--undo', 'undo everything that an earlier setup did')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(controlOption())
    .action(async (flags: Flags, command: Command) => {
      if (!/^[\w-]{1,40}$/.test(flags.user))
        throw wrongUsage(`--user is ${JSON.stringify(flags.user)}: use only letters, digits, _ and -`)
      // The service of the packages has its store there, and this command runs beside it.
      const isDefault = command.getOptionValueSource('data') === 'default'
      const data = isDefault && existsSync(PACKAGE_DATA) ? PACKAGE_DATA : flags.data
      const machine = thisMachine()
      const found = thePbx(machine, flags.config === undefined ? undefined : resolve(flags.config))
      if (flags.undo) await undo({ ...flags, data }, { machine, found })
      else await setUp({ ...flags, data }, { machine, found })
    })
}

type Place = { readonly machine: Machine; readonly found: FoundPbx }

/** @throws Fault if there is no PBX on this machine; CommanderError if there are several. */
function thePbx(machine: Machine, folder: string | undefined): FoundPbx {
  const all = findPbxs(machine, folder)
  const [found, ...more] = all
  if (found === undefined)
    throw new Fault(
      'not_found',
      folder === undefined
        ? 'no Asterisk or FreeSWITCH was found on this machine: run this command where the PBX runs, or give the folder of its configuration with --config'
        : `${folder} has neither manager.conf nor autoload_configs/event_socket.conf.xml: give the folder of the configuration of Asterisk or FreeSWITCH`,
    )
  if (more.length > 0)
    throw wrongUsage(
      `there are several PBXs here: choose one with --config ${all.map((one) => `${one.folder} (${one.distribution})`).join(', --config ')}`,
    )
  return found
}

async function setUp(flags: Flags, { machine, found }: Place): Promise<void> {
  const fusion = found.distribution === 'FusionPBX' ? findFusionPbx(machine) : undefined
  const gateways = fusion === undefined ? undefined : await gatewaysOf(fusion)
  const plan = planFor(machine, found, {
    name: flags.name,
    account: flags.account,
    user: flags.user,
    secret: randomBytes(18).toString('hex'),
    serviceUser: SERVICE_USER,
    isUnusualFolder: flags.config !== undefined,
    gateways: gateways?.text,
    calls: flags.calls === true,
    callsSecret: randomBytes(18).toString('hex'),
  })
  if ('refused' in plan) throw new Fault('conflict', plan.refused)
  if (flags.customers !== undefined && plan.found.distribution !== 'FusionPBX')
    throw wrongUsage(`--customers is only for FusionPBX, and this is ${plan.found.distribution}`)
  if (flags.customers !== undefined && existsSync(flags.customers))
    throw wrongUsage(`--customers: ${flags.customers} exists already: give the name of a new file`)
  const parsed = parsePbxUrl(plan.url)
  if ('wrong' in parsed) throw wrongUsage(`the URL of the PBX ${parsed.wrong}`)
  print(describe({ ...plan, notes: [...plan.notes, ...(gateways?.notes ?? [])] }, flags))
  if (flags.dryRun) return print('Nothing was changed.')
  const locked = [...plan.changes.map(({ path }) => path), `${found.folder}/hookswitch-setup.json`].find(
    (path) => !isWritable(path),
  )
  if (locked !== undefined)
    throw new Fault('unavailable', `no permission to write ${locked}: run this as root (sudo hookswitch pbx setup)`)
  if (!flags.yes && !(await agrees('Do this?'))) return print('Nothing was changed.')
  checkUnchanged(machine, plan.changes)
  writeRecord(plan, flags.name, readRecord(machine, found.folder))
  writeChanges(plan.changes)
  const failed = await runAll([...plan.reload, ...joinCommands(plan)])
  await withService(
    flags,
    (service) => service.ask('PUT', `/pbx/${encodeURIComponent(flags.name)}`, { body: { url: plan.url } }),
    { mayCreate: true },
  )
  if (flags.customers !== undefined && fusion !== undefined) {
    const domains = await readDomains(fusion)
    writeFileSync(flags.customers, customersCsv(domains), { mode: 0o600, flag: 'wx' })
    print(
      `${flags.customers} has the ${domains.length} domains: correct the e-mail addresses, then hookswitch user add --from ${flags.customers}`,
    )
  }
  if (failed.length > 0)
    print(`\nThese commands failed: run them yourself.\n${failed.map((one) => `  ${one}`).join('\n')}`)
  print('\nThe check:')
  const accountOf = parsed.pbx.tenants === undefined ? undefined : await accountsIn(flags)
  const findings = await checkPbx(parsed.pbx, CHECK_MS, { accountOf, accountsFollow: true })
  for (const { level, text } of findings) print(`${level.padEnd(8)} ${harmless(text)}`)
  if (failed.length > 0 || findings.some(({ level }) => level === 'missing'))
    throw new Fault('unavailable', 'not everything works yet: correct the problems above, then run this command again')
  const place = storePlaceOf(flags)
  const { users, isServed } = await withService(flags, async (service) => ({
    users: (await service.ask<readonly User[]>('GET', '/user')).result.length,
    isServed: service.isRunning,
  }))
  const isPackaged = flags.data === PACKAGE_DATA && existsSync('/run/systemd/system')
  print(`\n${afterPbxSetup({ place, users, isServed, isPackaged }).join('\n')}`)
}

/** Returns the names of the gateways, for the URL; a note if they cannot be read, since everything works without. */
async function gatewaysOf(fusion: FusionPbx): Promise<{ text: string | undefined; notes: string[] }> {
  try {
    return { text: gatewaysText(await readGateways(fusion)) || undefined, notes: [] }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { text: undefined, notes: [`trunks are called by their addresses: ${error.message}`] }
  }
}

/** How long the check watches events: the lines are new, so most likely no call is up. */
const CHECK_MS = 2_000

function describe(
  { found, changes, reload, url, notes, joins }: SetupPlan,
  { name, data, databaseUrl }: Flags,
): string {
  const files = changes.flatMap(({ path, before, lines }) => [
    `${path} (${before === null ? 'a new file' : 'appended; its content stays'}):`,
    ...lines.map((line) => `  + ${line.replace(/^(secret = ).*|("password" value=").*(")/, '$1$2***$3')}`),
  ])
  const place = databaseUrl === undefined ? `--data ${data}` : '--database-url …'
  const commands = [
    ...reload.map(shellLine),
    ...(joins === null ? [] : [`usermod -aG ${joins.group} ${joins.user}     # ${joins.why}`]),
    `hookswitch pbx add - --replace ${place}     # ${maskPbxUrl(url)}`,
    `hookswitch pbx check --name ${name}`,
  ]
  return [
    `${found.distribution}, configured in ${found.folder}`,
    ...(files.length === 0 ? ['The files need no change.'] : files),
    'Then:',
    ...commands.map((command) => `  ${command}`),
    ...notes.map((note) => `Note: ${note}.`),
  ].join('\n')
}

const shellLine = (command: readonly string[]): string =>
  command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${word}"`)).join(' ')

function joinCommands({ joins }: SetupPlan): string[][] {
  if (joins === null) return []
  const join = ['usermod', '-aG', joins.group, joins.user]
  // A running service gets the right of its new group at its next start.
  return existsSync('/run/systemd/system') ? [join, ['systemctl', 'try-restart', 'hookswitch']] : [join]
}

/** Runs commands one after the other. Returns the failed ones, with the reason. */
async function runAll(commands: readonly (readonly string[])[]): Promise<string[]> {
  const failed: string[] = []
  for (const command of commands) {
    const reason = await runOne(command)
    if (reason !== undefined) failed.push(`${shellLine(command)}     # ${harmless(reason)}`)
  }
  return failed
}

async function runOne([program = '', ...args]: readonly string[]): Promise<string | undefined> {
  if (Bun.which(program) === null) return 'the command does not exist'
  const child = Bun.spawn([program, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  // The clients of both PBXs report a failure in their output.
  const isRefused = /^-ERR|Unable to connect to remote asterisk|No such command/m.test(out)
  return (await child.exited) === 0 && !isRefused ? undefined : (err || out).trim().split('\n').at(-1)
}

async function undo(flags: Flags, { machine, found }: Place): Promise<void> {
  const record = readRecord(machine, found.folder)
  if (record === undefined)
    throw new Fault('not_found', `this command has set up nothing in ${found.folder}: there is nothing to undo`)
  const { name, files, joined, reload } = record
  const commands = [...(joined === null ? [] : [['gpasswd', '-d', joined.user, joined.group]]), ...reload]
  print(
    [
      `To undo the setup in ${found.folder} (${found.distribution}):`,
      ...files.map(({ path }) => `  the lines of hookswitch in ${path}`),
      ...commands.map((command) => `  ${shellLine(command)}`),
      `  hookswitch pbx remove ${name}`,
    ].join('\n'),
  )
  if (flags.dryRun) return print('Nothing was changed.')
  const locked = files.map(({ path }) => path).find((path) => !isWritable(path))
  if (locked !== undefined) throw new Fault('unavailable', `no permission to write ${locked}: run this as root`)
  if (!flags.yes && !(await agrees('Do this?'))) return print('Nothing was changed.')
  await withService(flags, (service) => service.ask('DELETE', `/pbx/${encodeURIComponent(name)}`)).catch((error) =>
    print(`The PBX was not removed: ${error.message}.`),
  )
  const left = undoChanges(machine, record)
  const failed = await runAll(commands)
  if (left.length > 0)
    throw new Fault(
      'conflict',
      `${left.join(', ')} was edited since the setup and still has lines of hookswitch: remove them by hand, then run this command again${failed.length === 0 ? '' : `; these commands failed: ${failed.join('; ')}`}`,
    )
  deleteRecord(found.folder)
  print(
    failed.length === 0
      ? 'Done.'
      : `Done, except for these commands: run them yourself.\n${failed.map((one) => `  ${one}`).join('\n')}`,
  )
}

/** Asks at the terminal. @throws CommanderError where nobody can be asked. */
async function agrees(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw wrongUsage(
      'there is no terminal to ask for confirmation: give --yes to make the changes, or --dry-run to see them',
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
