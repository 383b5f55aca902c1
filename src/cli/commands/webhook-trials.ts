import { basename } from 'node:path'
import { allowListOf, httpUrl } from '../../app/settings.ts'
import { createAttempts, sendTestRequest, type TestedFlow } from '../../deliveries/deliveries.ts'
import type { EventKind } from '../../events/kinds.ts'
import { exampleTexts, flowSample } from '../../events/samples.ts'
import {
  type CallPreview,
  newStepRequests,
  type PresetTrial,
  type SetupService,
  shownPresets,
} from '../../flows/flows.ts'
import { Fault } from '../../lib/fault.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { newExchange } from '../../outbound/exchange.ts'
import { newGuardedRequests } from '../../outbound/guarded-request.ts'
import { explain } from '../../pbx/pbx.ts'
import { optionsFrom, type WebhookOptions } from '../../webhooks/webhooks.ts'
import { readGivenRecording } from '../given-recording.ts'
import { hasStore, storePlaceOf } from '../open-store.ts'
import { print, printError, printJson } from '../print.ts'
import { readRunningState } from '../running-service.ts'
import { printTable } from '../table.ts'
import { changesOf } from '../webhook-flags.ts'
import { type AccountFlags, loadPresets, notInList, onAccount, withoutStore } from '../webhook-services.ts'

// The commands that try a webhook: previews of its requests, checks of a CRM preset, and test requests.

type SendFlags = AccountFlags & { allowNet: string[]; proxy?: string }
type TrialFlags = SendFlags & { flow?: string }
type PreviewFlags = AccountFlags & { event?: EventKind; call?: string; recording?: string }

/** Prints the request for an event, or the requests that a call or a recording would have caused. */
export async function showPreview(url: string, flags: PreviewFlags): Promise<void> {
  const { call, recording, event = 'call_started' } = flags
  if ([flags.event, call, recording].filter((one) => one !== undefined).length > 1)
    throw wrongUsage('--event, --call and --recording: give one of them')
  if (call !== undefined || recording !== undefined) return await showCallPreview(url, flags)
  const shown = await onAccount(flags, async ({ options, setup }, accountId) => {
    const known = (await options.list(accountId)).find((one) => one.url === url)
    if (known === undefined) throw notInList(url, flags.account)
    if (known.flow !== null) {
      const not_sent = await options.notSent(accountId, url, event)
      const body = exampleTexts().get(event) ?? ''
      return {
        ...(await setup.previewEvents(accountId, { url, events: [{ name: event, callId: 'sample', body }] })),
        not_sent,
      }
    }
    return options.preview(accountId, { event, body: known.body, url })
  })
  if (shown.not_sent !== null && !flags.json) print(shown.not_sent)
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

function printSteps(preview: CallPreview, flags: PreviewFlags): void {
  const { steps, truncated } = preview
  if (flags.json) {
    printJson(preview)
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
  if (truncated !== null)
    print(`not shown: ${truncated.step} of ${truncated.event}, and what follows: ${truncated.reason}`)
}

/** Returns the events of a recording of a PBX, as an account gets them. */
function eventsOfRecording(file: string, account: string) {
  const recording = readGivenRecording(file)
  const { explained } = explain([recording], { pbx: basename(file), trunks: [], extensions: [], variables: [] })
  return explained.map(({ event: { name, callId, body } }) => ({
    name,
    callId,
    body: JSON.stringify({ ...body, data: { ...body.data, account } }),
  }))
}

const NO_ACCOUNT = 0

/** Runs something on the preset of a URL, or on a given one, with requests as the running service makes them. */
async function onPreset<Result>(
  url: string,
  flags: TrialFlags,
  work: (setup: SetupService, accountId: number, trial: PresetTrial) => Promise<Result>,
): Promise<Result> {
  const { allow, proxy } = await sendingOf(flags)
  await loadPresets(flags)
  const exchange = newExchange(newGuardedRequests({ allow, proxy }))
  const given = flags.flow === undefined ? undefined : optionsFrom({ url, ...changesOf({ flow: flags.flow }) })
  const trialOf = ({ flow }: Partial<Pick<WebhookOptions, 'flow'>>): PresetTrial => {
    const { preset, parameters = {} } = flow ?? {}
    if (preset !== undefined) return { url, preset, parameters }
    throw given === undefined
      ? new Fault('invalid', `${shownUrl(url)} has no preset of a CRM: set one with webhook set --flow`)
      : new Fault('invalid', 'the file has no preset: { "preset": …, "parameters": … }')
  }
  // Before the first start of the service, a file has all that a trial needs.
  if (given !== undefined && !hasStore(flags))
    return await withoutStore(exchange, (setup) => work(setup, NO_ACCOUNT, trialOf(given)))
  return await onAccount(
    flags,
    async ({ options, setup }, accountId) => {
      const source = given ?? (await options.list(accountId)).find((one) => one.url === url)
      if (source === undefined) throw notInList(url, flags.account)
      return work(setup, accountId, trialOf(source))
    },
    exchange,
  )
}

/** Sends a request that changes nothing, and prints the answer. */
export async function checkPreset(url: string, flags: TrialFlags): Promise<void> {
  const checked = await onPreset(url, flags, (setup, accountId, trial) => setup.check(accountId, trial))
  if (flags.json) printJson(checked)
  else for (const warning of checked.warnings) printError(`warning: ${oneLine(warning)}`)
  if (checked.error !== null) throw new Fault('unavailable', oneLine(checked.error))
  if (!flags.json)
    print([checked.status, `${checked.duration_ms} ms`, oneLine(checked.response ?? '')].join('\t').trimEnd())
}

/** Prints the users of the CRM. */
export async function listPresetUsers(url: string, flags: TrialFlags): Promise<void> {
  const listed = await onPreset(url, flags, (setup, accountId, trial) => setup.directory(accountId, trial))
  if (flags.json) printJson(listed)
  if (listed.error !== null) throw new Fault('unavailable', oneLine(listed.error))
  if (!flags.json)
    printTable(
      ['id', 'name', 'extension'],
      listed.users.map(({ id, name, extension }) => [id, name, extension]),
      { whenEmpty: 'the CRM has no users' },
    )
}

/** Prints the presets, or the parameters of one. */
export async function showPresets(name: string | undefined, { json }: { json?: boolean }): Promise<void> {
  await loadPresets()
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
      ['name', 'title'],
      presets.map((one) => [one.name, one.title]),
      { whenEmpty: 'there are no presets' },
    )
    return
  }
  printTable(
    ['parameter', 'type', 'required', 'default', 'meaning'],
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

/** Sends a test request, or plays a flow, and prints the outcome. */
export async function sendTest(url: string, flags: SendFlags & { send?: boolean }): Promise<void> {
  const { json, account } = flags
  const { allow, proxy } = await sendingOf(flags)
  const { attempt, stop } = createAttempts({ allow, ...(proxy === undefined ? {} : { proxy }) })
  const requests = newGuardedRequests({ allow, proxy })
  const tested = await onAccount(
    flags,
    async ({ templates, authorizer }, accountId, store) => {
      const flow = { templates, send: newStepRequests(requests), authorizer, sample: flowSample() }
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
    throw new Fault(
      'unavailable',
      status === null
        ? `the request was not delivered: ${error}`
        : `the receiver did not accept the request: ${error ?? `it answered ${status}`}`,
    )
}

function printFlowTest(tested: TestedFlow, { json, isSent }: { json: boolean | undefined; isSent: boolean }): void {
  if (json) printJson(tested)
  else
    printTable(
      ['step', 'request', 'outcome', 'body'],
      tested.steps.map(({ step, method, url, status, error, body }) => [
        step,
        url === null ? '-' : `${method} ${shownUrl(url)}`,
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
