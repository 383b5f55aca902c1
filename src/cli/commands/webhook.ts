import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { allowListOf, httpUrl } from '../../app/settings.ts'
import type { TestedFlow } from '../../deliveries/log/model.ts'
import { sendTestRequest } from '../../deliveries/log/test-request.ts'
import { createAttempts } from '../../deliveries/mqtt/attempts.ts'
import { newExchange } from '../../deliveries/sending/exchange.ts'
import { newGuardedRequests } from '../../deliveries/sending/guarded-request.ts'
import { newStepRequests } from '../../deliveries/sending/step-request.ts'
import { EVENT_NAMES, type EventKind, SWITCH_NAMES } from '../../lib/event-kinds.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import { nowUs } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { ALL_EXAMPLES } from '../../openapi/examples.ts'
import { type PbxRecording, readRecording } from '../../pbx/recorded/recording.ts'
import { explain } from '../../pbx/tools/explain.ts'
import { spellingOf } from '../../store/account-spelling.ts'
import type { OperatorAct } from '../../store/operations/accounts.ts'
import type { ListedWebhook } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { createAuthorizer } from '../../webhooks/authorization/authorizer.ts'
import { createLoginRenderer } from '../../webhooks/authorization/login-renderer.ts'
import type { Authorizer } from '../../webhooks/flows/authorizer.ts'
import type { Exchange } from '../../webhooks/flows/exchange.ts'
import { urlProblem } from '../../webhooks/model.ts'
import { PRESET_NAMES } from '../../webhooks/options/body-presets.ts'
import type { WebhookOptions } from '../../webhooks/options/model.ts'
import { optionsChange } from '../../webhooks/options/options-change.ts'
import { optionsFrom } from '../../webhooks/options/rules.ts'
import { createOptionsService } from '../../webhooks/options/service.ts'
import { createWebhookService } from '../../webhooks/service.ts'
import type { CallPreview, PresetTrial } from '../../webhooks/setup/model.ts'
import { createSetupService, type SetupService, shownPresets } from '../../webhooks/setup/service.ts'
import type { TemplateRenderer } from '../../webhooks/templates/renderer.ts'
import { noteAct } from '../note-act.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from '../open-store.ts'
import { withTemplates } from '../open-templates.ts'
import { databaseOption, dataOption, jsonOption, list } from '../options.ts'
import { print, printError, printJson } from '../print.ts'
import { describeDown, type RunningState, readRunningState } from '../running-service.ts'
import { printTable } from '../table.ts'
import { changesOf, eventsOf, type OptionFlags } from '../webhook-flags.ts'

type Flags = StoreFlags & { json?: boolean; account: string }
type SendFlags = Flags & { allowNet: string[]; proxy?: string }
type TrialFlags = SendFlags & { flow?: string }

/** Adds `hookswitch webhook`. */
export function webhookCommand(program: Command): void {
  const webhook = program.command('webhook').description('manage the URLs that receive events, and their options')
  const command = (name: string, description: string) =>
    webhook
      .command(name)
      .description(description)
      .option('--account <account>', 'the account of the list', 'default')
      .addOption(dataOption())
      .addOption(databaseOption())
      .addOption(jsonOption())
  const ofUrl = (name: string, description: string) =>
    command(name, description).argument('<url>', "a URL of the account's list")

  command('list', 'list the webhooks of an account with their options').action(showWebhooks)
  command('add', 'add a URL to the list')
    .argument('<url>', 'an absolute http: or https: URL, or mqtt://host/topic (mqtts: over TLS)')
    .option('--events <events>', 'which events it gets: all, or names separated by commas (repeatable)', list, [])
    .option('--allow-net <net>', 'as for serve; default: the setting of the running service (repeatable)', list, [])
    .action(addWebhook)
  ofUrl('remove', 'remove a URL from the list; its pending deliveries are cancelled').action(removeWebhook)
  addOptionFlags(ofUrl('set', 'change the events and options of a URL; the others stay')).action(setWebhook)
  ofUrl('secret', 'print the secret that signs the requests to a URL')
    .option('--rotate', 'make a new secret; the previous one also signs for 24 hours')
    .option('--force', 'with --rotate: end the previous secret at once, if it still signs')
    .action(showSecret)
  ofUrl(
    'preview',
    'print the request that the receiver would get for an event, or the requests that a call would have caused',
  )
    .addOption(new Option('--event <kind>', 'the kind of the event').choices(EVENT_NAMES))
    .option('--call <id>', 'for a flow: a call whose events are in the store')
    .option('--recording <file>', 'for a flow: the calls of a recording (.ami or .esl, see pbx record)')
    .action(showPreview)
  command('check', 'for a CRM preset: send a request that changes nothing, and print the answer')
    .argument('<url>', "a URL of the account's list; with --flow also one that is not in it yet")
    .option('--flow <file>', 'check this preset, before it is saved: a file of JSON (-: standard input)')
    .option('--allow-net <net>', 'as for serve; default: the setting of the running service (repeatable)', list, [])
    .option('--proxy <url>', 'as for serve; default: the setting of the running service')
    .action(checkPreset)
  command('users', 'for a CRM preset: list the CRM users, for the map of extensions')
    .argument('<url>', "a URL of the account's list; with --flow also one that is not in it yet")
    .option('--flow <file>', 'with this preset, before it is saved: a file of JSON (-: standard input)')
    .option('--allow-net <net>', 'as for serve; default: the setting of the running service (repeatable)', list, [])
    .option('--proxy <url>', 'as for serve; default: the setting of the running service')
    .action(listPresetUsers)
  webhook
    .command('preset')
    .argument('[name]', 'the preset whose parameters are listed')
    .description('list the CRM presets, or the parameters of one')
    .addOption(jsonOption())
    .action(showPresets)
  ofUrl('test', 'send one signed test request, which is not stored, and print the response')
    .option('--allow-net <net>', 'as for serve; default: the setting of the running service (repeatable)', list, [])
    .option('--proxy <url>', 'as for serve; default: the setting of the running service')
    .option('--send', 'for a flow: send its steps, instead of only printing them')
    .action(sendTest)
}

const addOptionFlags = (command: Command): Command =>
  command
    .option('--events <events>', 'which events it gets: all, or names separated by commas (repeatable)', list, [])
    .option('--name <text>', 'a name for people, shown beside the URL')
    .option('--paused', 'send nothing; deliveries stay pending')
    .option('--no-paused', 'end the pause')
    .option('--filter <json>', 'which events it gets: \'{"direction":["inbound"],"queue":["sales*"]}\'')
    .option('--headers <file>', 'more request headers: a file of lines name: value (-: standard input)')
    .addOption(
      new Option('--order <order>', 'whether a retry delays later events of its call').choices([
        'first_attempt',
        'strict',
      ]),
    )
    .option('--max-per-second <number>', 'the most attempts per second, 0.1 to 1000')
    .addOption(new Option('--preset <preset>', 'a built-in body').choices(PRESET_NAMES))
    .option('--parameter <name=value>', 'a parameter of the preset, like chat_id=-100123 (repeatable)', list, [])
    .option('--template <file>', 'a body in Liquid (-: standard input)')
    .option('--content-type <type>', 'the content type of the template')
    .option('--default-body', 'the default body again')
    .option('--retain', 'for an MQTT URL: the broker keeps the newest message of each topic')
    .option('--no-retain', 'the broker keeps no messages')
    .option(
      '--flow <file>',
      'several requests for one event: a file of JSON with steps or a preset (-: standard input)',
    )
    .option('--no-flow', 'one request for one event again')
    .option('--share-pace', 'share one pace with all webhooks of the account that have the same host and this option')
    .option('--no-share-pace', 'have its own pace again')

/** Runs something on the webhooks and options of an account. */
async function onAccount<Result>(
  { data, databaseUrl, account }: Flags,
  work: (services: Services, accountId: number, store: Store) => Promise<Result>,
  exchange: Exchange = noExchange,
): Promise<Result> {
  return await withExistingStore({ data, databaseUrl }, async (store) => {
    const accountId = await store.accounts.accountGetId(spellingOf(account, await store.accounts.accountList()))
    if (accountId === undefined)
      throw new Fault('not_found', `there is no account ${account}: list the accounts with hookswitch user list`)
    const samples = new Map(ALL_EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))
    const webhooks = createWebhookService({ webhooks: store.webhooks })
    const note: Services['note'] = (event, facts) => noteAct(store, { event, email: null, account, facts })
    return await withTemplates(async (templates) => {
      const options = createOptionsService({
        webhooks: store.webhooks,
        authorizations: store.authorizations,
        templates,
        samples,
      })
      const { steppedUs } = await store.maintenance.clockGet()
      const authorizer = createAuthorizer({
        store: store.authorizations,
        exchange,
        login: createLoginRenderer(templates),
        nowUs,
        steadyUs: () => nowUs() - steppedUs,
        log: NO_LOG,
        onProblem: () => {},
      })
      const setup = createSetupService({ webhooks: store.webhooks, events: store.log, templates, exchange, authorizer })
      return await work({ webhooks, options, setup, templates, note, authorizer }, accountId, store).finally(
        authorizer.stop,
      )
    }).catch((error) => {
      throw inWords(error)
    })
  })
}

type Services = {
  readonly webhooks: ReturnType<typeof createWebhookService>
  readonly options: ReturnType<typeof createOptionsService>
  readonly setup: SetupService
  readonly templates: TemplateRenderer
  readonly authorizer: Authorizer
  /** Stores a note of the change, which the service writes to its log. */
  readonly note: (event: OperatorAct['event'], facts: NonNullable<OperatorAct['facts']>) => Promise<void>
}

/** A command prints what went wrong. */
const NO_LOG = { debug() {}, info() {}, warn() {}, error() {} }

/** Most commands make no request. */
const noExchange: Exchange = () => Promise.reject(new Error('this command makes no request'))

/** On a command line there is no list of errors beside the message. */
function inWords(error: unknown): unknown {
  if (!(error instanceof Fault) || error.errors.length === 0) return error
  return new Fault(error.code, error.errors.map(inOneLine).join('; '))
}

/** The flags that set the fields of options, by the pointer to the field. */
const FLAGS: readonly (readonly [RegExp, string])[] = [
  [/^\/body\/parameters\/(.+)$/, '--parameter $1=…'],
  [/^\/body\/template$/, 'template:'],
  [/^\/body\/content_type$/, '--content-type'],
  [/^\/max_per_second$/, '--max-per-second'],
  [/^\/(name|headers|filter)$/, '--$1'],
  [/^\/filter\/([\w/]+)$/, '--filter: $1'],
]

/** Names an error by its flag, else by its field; one of the whole list has an empty path. */
function inOneLine({ path, message }: FieldError): string {
  const [pattern, flag] = FLAGS.find(([one]) => one.test(path)) ?? []
  const subject = pattern === undefined || flag === undefined ? path.slice(1) : path.replace(pattern, flag)
  return path === '' ? message : `${subject}${pattern === undefined ? ':' : ''} ${message}`
}

async function showWebhooks(flags: Flags): Promise<void> {
  const { shown, isRunning } = await onAccount(flags, async ({ webhooks, options }, accountId, store) => {
    const byUrl = new Map((await options.list(accountId)).map((one) => [one.url, one]))
    const { list } = await webhooks.list(accountId)
    const listed = await store.webhooks.webhookListWithPending(accountId)
    const running = await readRunningState(
      storePlaceOf(flags),
      listed.map(({ id }) => id),
    )
    const stateOf = (at: number) => stateOfWebhook(listed[at], byUrl, running)
    const shown = list.map((webhook, at) => ({ ...webhook, options: byUrl.get(webhook.url), ...stateOf(at) }))
    return { shown, isRunning: running.isRunning }
  })
  if (flags.json) return printJson(shown)
  const rows = shown.map(({ url, options, state, down_since: since, error, pending, ...switches }) => {
    const chosen = SWITCH_NAMES.filter((name) => switches[name])
    const events = [...(chosen.length === SWITCH_NAMES.length ? ['all'] : chosen), ...(options?.events ?? [])]
    const text = since === null ? state : `${state} ${describeDown({ since, error: error ?? '' })}`
    return [url, options?.name, text, pending, events.join(','), describeOptions(options).join(' ')]
  })
  const whenEmpty = `The account ${flags.account} has no webhook: hookswitch webhook add URL adds one.`
  printTable(['url', 'name', 'state', 'pending', 'events', 'options'], rows, { whenEmpty })
  if (shown.length > 0 && !isRunning)
    printError('No service is running on this store, so nothing is sent: hookswitch serve starts it.')
}

/** Returns whether a webhook is sent to, as the running service has it, and how many deliveries are pending for it. */
function stateOfWebhook(
  listed: ListedWebhook | undefined,
  options: ReadonlyMap<string, WebhookOptions>,
  { down }: RunningState,
) {
  const found = listed === undefined ? undefined : down.get(listed.id)
  const isPaused = listed !== undefined && options.get(listed.url)?.paused === true
  const state = isPaused ? 'paused' : found === undefined ? 'active' : 'down'
  const outage = state === 'down' ? found : undefined
  return {
    state,
    down_since: outage?.since ?? null,
    error: outage?.error ?? null,
    pending: listed?.pending ?? 0,
  } as const
}

/** Returns the options that differ from the defaults; the values of headers are secrets. */
function describeOptions(options: WebhookOptions | undefined): string[] {
  if (options === undefined) return []
  const { filter, order, max_per_second: pace, body, headers, retain, flow, share_pace: sharesPace } = options
  return [
    ...(filter === null ? [] : [`filter=${JSON.stringify(filter)}`]),
    ...(order === 'strict' ? ['order=strict'] : []),
    ...(pace === null ? [] : [`max_per_second=${pace}`]),
    ...(body === null ? [] : [`body=${body.preset ?? 'template'}`]),
    ...(flow === null ? [] : [`flow=${flow.preset ?? `${flow.steps?.length ?? 0} steps`}`]),
    ...(sharesPace ? ['share_pace'] : []),
    ...(Object.keys(headers).length === 0 ? [] : [`headers=${Object.keys(headers).join(',')}`]),
    ...(retain ? ['retain'] : []),
  ]
}

type AddFlags = Flags & { events: string[]; allowNet: string[] }

async function addWebhook(url: string, { events, allowNet, ...flags }: AddFlags): Promise<void> {
  const { settings } = await readRunningState(storePlaceOf(flags), [])
  const problem = urlProblem(url, allowListOf(allowNet.length > 0 ? allowNet : (settings?.allowNets ?? [])))
  // Without the settings of the service this command needs the flag itself.
  const too = problem?.includes('--allow-net') && settings === undefined ? ', and so must this command' : ''
  if (problem !== undefined) throw new Fault('invalid', `${url}: ${problem}${too}`)
  const wanted = eventsOf(events.length === 0 ? ['all'] : events)
  const added = await onAccount(flags, async (services, accountId) => {
    const { webhooks, options, note } = services
    const { change } = await webhooks.append(accountId, { url, ...wanted.switches }).catch((cause) => {
      throw cause instanceof Fault && cause.code === 'conflict' ? isInList(url, flags.account) : cause
    })
    await note('webhooks_replaced', change)
    const kept = (await options.list(accountId)).find((one) => one.url === url)
    // Events that were asked for by name are all that it gets.
    const isChanged = events.length > 0 && !Bun.deepEquals(wanted.events, kept?.events)
    const inForce = isChanged ? await changeOptions(services, accountId, { url, events: wanted.events }) : kept
    const secret = (await webhooks.secrets(accountId)).find((one) => one.url === url)?.secret
    return { secret, options: inForce, kept: describeKept(kept) }
  })
  const { secret, options, kept } = added
  if (flags.json) return printJson({ url, secret, options })
  print(`added ${url}\nits requests are signed with ${secret}`)
  if (kept.length > 0) print(`its earlier options apply again: ${kept.join(' ')}\nhookswitch webhook set changes them`)
}

/** Returns the options that a URL has kept since it was in the list before. */
function describeKept(options: WebhookOptions | undefined): string[] {
  if (options === undefined) return []
  const { name, paused, events } = options
  return [
    ...(paused ? ['paused'] : []),
    ...(name === null ? [] : [`name=${JSON.stringify(name)}`]),
    ...(events.length === 0 ? [] : [`events=${events.join(',')}`]),
    ...describeOptions(options),
  ]
}

async function removeWebhook(url: string, flags: Flags): Promise<void> {
  await onAccount(flags, async ({ webhooks, note }, accountId) => {
    const { change } = await webhooks.remove(accountId, url).catch((cause) => {
      throw cause instanceof Fault && cause.code === 'not_found' ? notInList(url, flags.account) : cause
    })
    await note('webhooks_replaced', change)
  })
  if (flags.json) printJson({ url })
  else print(`removed ${url}: its pending deliveries are cancelled`)
}

async function setWebhook(url: string, flags: Flags & OptionFlags & { events: string[] }): Promise<void> {
  const changes = changesOf(flags)
  const wanted = flags.events.length === 0 ? undefined : eventsOf(flags.events)
  if (wanted === undefined && Object.keys(changes).length === 0)
    throw wrongUsage(
      'there is nothing to change: give --events, --name, --paused, … (see hookswitch webhook set --help)',
    )
  const shown = await onAccount(flags, async (services, accountId) => {
    const { list: before, etag } = await services.webhooks.list(accountId)
    if (!before.some((one) => one.url === url)) throw notInList(url, flags.account)
    const events = wanted === undefined ? {} : { events: wanted.events }
    const changed = await changeOptions(services, accountId, { ...changes, ...events, url })
    if (wanted !== undefined) {
      const after = before.map((one) => (one.url === url ? { url, ...wanted.switches } : one))
      const { change } = await services.webhooks.replace(accountId, after, etag)
      await services.note('webhooks_replaced', change)
    }
    return changed
  })
  if (flags.json) printJson(shown)
  else print(`changed ${url}`)
}

/** Changes some of the options of a URL; the values of its headers stay. */
async function changeOptions(
  { options, note }: Services,
  accountId: number,
  changes: { readonly url: string } & Readonly<Record<string, unknown>>,
) {
  const before = (await options.list(accountId)).find(({ url }) => url === changes.url)
  const { options: replaced, switchedOn } = await options.replace(accountId, optionsFrom({ ...before, ...changes }))
  if (switchedOn.length > 0) printError(`switched on, since the flow needs them: ${switchedOn.join(', ')}`)
  await note('webhook_options_replaced', { ...optionsChange(before, replaced), paused: String(replaced.paused) })
  return replaced
}

async function showSecret(url: string, flags: Flags & { rotate?: boolean; force?: boolean }): Promise<void> {
  const shown = await onAccount(flags, async ({ webhooks, note }, accountId) => {
    const known = (await webhooks.secrets(accountId)).find((one) => one.url === url)
    if (known === undefined) throw notInList(url, flags.account)
    if (!flags.rotate) return known
    const rotated = await webhooks.rotate(accountId, url, flags.force).catch((cause) => {
      throw cause instanceof Fault
        ? new Fault(cause.code, cause.message.replace('send "force": true', 'give --force'))
        : cause
    })
    await note('secret_rotated', { host: new URL(url).host })
    return rotated
  })
  if (flags.json) printJson(shown)
  else print(shown.secret)
}

type PreviewFlags = Flags & { event?: EventKind; call?: string; recording?: string }

async function showPreview(url: string, flags: PreviewFlags): Promise<void> {
  const { call, recording, event = 'call_started' } = flags
  if ([flags.event, call, recording].filter((one) => one !== undefined).length > 1)
    throw wrongUsage('--event, --call and --recording: give one of them')
  if (call !== undefined || recording !== undefined) return await showCallPreview(url, flags)
  const shown = await onAccount(flags, async ({ options, setup }, accountId) => {
    const known = (await options.list(accountId)).find((one) => one.url === url)
    if (known === undefined) throw notInList(url, flags.account)
    if (known.flow !== null) {
      const body = JSON.stringify(ALL_EXAMPLES.find(({ data }) => data.name === event))
      return await setup.previewEvents(accountId, { url, events: [{ name: event, callId: 'sample', body }] })
    }
    return options.preview(accountId, { event, body: known.body })
  })
  if ('steps' in shown) {
    printSteps(shown, flags)
    return
  }
  if (flags.json) return printJson(shown)
  print(`Content-Type: ${shown.content_type}`)
  print(shown.body === '' ? 'this event is not sent: its template result is empty' : shown.body)
}

/** Prints the requests that a call would have caused. */
async function showCallPreview(url: string, flags: PreviewFlags): Promise<void> {
  const { call, recording, account } = flags
  const shown = await onAccount(flags, ({ setup }, accountId) =>
    call === undefined
      ? setup.previewEvents(accountId, { url, events: eventsOfRecording(recording ?? '', account) })
      : setup.preview(accountId, { url, call_id: call }),
  )
  printSteps(shown, flags)
}

function printSteps({ steps }: CallPreview, flags: PreviewFlags): void {
  if (flags.json) {
    printJson({ steps })
    return
  }
  if (steps.length === 0) print('no step of the flow begins with this event: nothing is sent')
  for (const { event, step, method, url: target, headers, body, skipped, error, answer } of steps) {
    print([event, step, ...(target === null ? [] : [method, oneLine(target)])].join('\t'))
    if (skipped !== null) print(`  ${skipped}`)
    if (error !== null) print(`  error: ${oneLine(error)}`)
    if (headers.length > 0) print(`  headers: ${headers.join(', ')}`)
    if (body !== null) print(`  ${oneLine(body)}`)
    if (answer !== null) print(`  documented answer: ${answer.status} ${oneLine(JSON.stringify(answer.body))}`)
  }
}

/** Returns the events of a recording of a PBX, as an account gets them. */
function eventsOfRecording(file: string, account: string) {
  const { explained } = explain([recordingIn(file)], { pbx: basename(file), trunks: [], extensions: [], variables: [] })
  return explained.map(({ event: { name, callId, body } }) => ({
    name,
    callId,
    body: JSON.stringify({ ...body, data: { ...body.data, account } }),
  }))
}

function recordingIn(file: string): PbxRecording {
  try {
    return readRecording(file)
  } catch (cause) {
    throw new Fault('invalid', `cannot read ${file}: give a recording (.ami or .esl, see pbx record)`, { cause })
  }
}

/** Runs something on the preset of a URL, or on a given one, with requests as the running service makes them. */
async function onPreset<Result>(
  url: string,
  flags: TrialFlags,
  work: (setup: SetupService, accountId: number, trial: PresetTrial) => Promise<Result>,
): Promise<Result> {
  const { allow, proxy } = await sendingOf(flags)
  const exchange = newExchange(newGuardedRequests({ allow, proxy }))
  const given = flags.flow === undefined ? undefined : optionsFrom({ url, ...changesOf({ flow: flags.flow }) })
  return await onAccount(
    flags,
    async ({ options, setup }, accountId) => {
      if (given !== undefined) {
        const { preset, parameters = {} } = given.flow ?? {}
        if (preset === undefined) throw new Fault('invalid', 'the file has no preset: { "preset": …, "parameters": … }')
        return work(setup, accountId, { url, preset, parameters })
      }
      const known = (await options.list(accountId)).find((one) => one.url === url)
      if (known === undefined) throw notInList(url, flags.account)
      const { preset, parameters = {} } = known.flow ?? {}
      if (preset === undefined)
        throw new Fault('invalid', `${url} has no preset of a CRM: set one with webhook set --flow`)
      return work(setup, accountId, { url, preset, parameters })
    },
    exchange,
  )
}

async function checkPreset(url: string, flags: TrialFlags): Promise<void> {
  const checked = await onPreset(url, flags, (setup, accountId, trial) => setup.check(accountId, trial))
  if (flags.json) printJson(checked)
  if (checked.error !== null) throw new Fault('unavailable', oneLine(checked.error))
  if (!flags.json)
    print([checked.status, `${checked.duration_ms} ms`, oneLine(checked.response ?? '')].join('\t').trimEnd())
}

async function listPresetUsers(url: string, flags: TrialFlags): Promise<void> {
  const listed = await onPreset(url, flags, (setup, accountId, trial) => setup.directory(accountId, trial))
  if (flags.json) printJson(listed)
  if (listed.error !== null) throw new Fault('unavailable', oneLine(listed.error))
  if (!flags.json)
    printTable(
      ['ID', 'NAME', 'EXTENSION'],
      listed.users.map(({ id, name, extension }) => [id, name, extension]),
      { whenEmpty: 'the CRM has no users' },
    )
}

function showPresets(name: string | undefined, { json }: { json?: boolean }): void {
  const presets = shownPresets()
  const chosen = name === undefined ? undefined : presets.find((one) => one.name === name)
  if (name !== undefined && chosen === undefined)
    throw new Fault('invalid', `there is no preset ${name}: hookswitch webhook preset lists them`)
  if (json) {
    printJson(chosen ?? presets)
    return
  }
  if (chosen === undefined) {
    printTable(
      ['NAME', 'TITLE'],
      presets.map((one) => [one.name, one.title]),
      { whenEmpty: 'there are no presets' },
    )
    return
  }
  printTable(
    ['PARAMETER', 'TYPE', 'REQUIRED', 'DEFAULT', 'WHAT IT IS'],
    chosen.parameters.map((one) => [
      one.name,
      one.choices === undefined ? one.type : one.choices.map(({ value }) => value).join(' | '),
      one.required ? 'yes' : 'no',
      one.default === null ? '-' : String(one.default),
      `${one.title}: ${one.help}`,
    ]),
    { whenEmpty: `${chosen.name} has no parameters` },
  )
}

async function sendTest(url: string, flags: SendFlags & { send?: boolean }): Promise<void> {
  const { json, account } = flags
  const { allow, proxy } = await sendingOf(flags)
  const { attempt, stop } = createAttempts({ allow, ...(proxy === undefined ? {} : { proxy }) })
  const requests = newGuardedRequests({ allow, proxy })
  const tested = await onAccount(
    flags,
    async ({ templates, authorizer }, accountId, store) => {
      const flow = { templates, send: newStepRequests(requests), authorizer, sample: endedCall() }
      return await sendTestRequest(
        { store, attempt, templates, flow },
        { accountId, url, send: flags.send === true },
      ).catch((cause) => {
        throw cause instanceof Fault && cause.code === 'invalid' ? notInList(url, account) : cause
      })
    },
    newExchange(requests),
  ).finally(stop)
  if ('steps' in tested) {
    printFlowTest(tested, { json, isSent: flags.send === true })
    return
  }
  const { status, error, duration_ms, response } = tested
  if (json) printJson({ status, duration_ms, error, response })
  // Without an answer, the error is the whole result.
  else if (error === null)
    print([status ?? 'PUBACK', `${duration_ms} ms`, oneLine(response ?? '')].join('\t').trimEnd())
  // MQTT has no status.
  if (error !== null || (status !== null && (status < 200 || status >= 300)))
    throw new Fault('unavailable', `the receiver did not accept the request: ${error ?? `it answered ${status}`}`)
}

/** Returns the event with which flows are tested. */
const endedCall = () =>
  ({
    event: 'call_ended',
    body: JSON.stringify(ALL_EXAMPLES.find(({ data }) => data.name === 'call_ended')),
  }) as const

function printFlowTest(tested: TestedFlow, { json, isSent }: { json: boolean | undefined; isSent: boolean }): void {
  if (json) printJson(tested)
  else
    printTable(
      ['step', 'request', 'outcome', 'body'],
      tested.steps.map(({ step, method, url, status, error, body }) => [
        step,
        url === null ? '-' : `${method} ${url}`,
        [status, error].filter((part) => part !== null).join(' ') || 'not sent',
        oneLine(body ?? ''),
      ]),
      { whenEmpty: 'no step begins with call_ended' },
    )
  const failed = tested.steps.find(({ error }) => error !== null && !error.startsWith('skipped'))
  if (failed !== undefined) throw new Fault('unavailable', `${failed.step}: ${failed.error}`)
  if (!isSent && !json) printError('Nothing was sent: --send sends these requests.')
}

/** Returns how to send as the running service does, unless flags say otherwise. */
async function sendingOf(flags: SendFlags) {
  const { settings } = await readRunningState(storePlaceOf(flags), [])
  const { allowNet, proxy = settings?.proxy ?? undefined } = flags
  if (proxy?.includes('***'))
    throw new Fault(
      'invalid',
      `the service sends through the proxy ${proxy}, whose password only it knows: give it with --proxy, or test the webhook in the page`,
    )
  return {
    allow: allowListOf(allowNet.length > 0 ? allowNet : (settings?.allowNets ?? [])),
    proxy: proxy === undefined ? undefined : httpUrl('--proxy', proxy),
  }
}

/** A list may name a URL twice, which is then called twice: a command that is repeated does not ask for that. */
const isInList = (url: string, account: string) =>
  new Fault('conflict', `${url} is already in the list of account ${account}: hookswitch webhook set changes it`)

const notInList = (url: string, account: string) =>
  new Fault(
    'invalid',
    `${url} is not in the list of account ${account}: hookswitch webhook list shows it, webhook add adds one`,
  )
