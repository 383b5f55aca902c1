import {
  type IDataObject,
  type IHookFunctions,
  type IHttpRequestMethods,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
} from 'n8n-workflow'
import { faultOf } from './signature'

/** The kinds of event that are switches of a webhook. */
const SWITCHES = [
  { name: 'Call Ended', value: 'call_ended', description: 'All parties have left the call' },
  { name: 'Call Saved', value: 'call_saved', description: 'The record of the call is complete, with its recordings' },
  { name: 'Call Started', value: 'call_started', description: 'An incoming, outgoing or internal call started' },
  { name: 'Call Transferred', value: 'call_transferred', description: 'The call was transferred, blind or attended' },
  { name: 'Dial Answered', value: 'dial_answered', description: 'A phone or an outside number was answered' },
  { name: 'Dial Ended', value: 'dial_ended', description: 'It stopped ringing, or that party left the call' },
  { name: 'Dial Started', value: 'dial_started', description: 'A phone or an outside number starts ringing' },
]

/** The kinds that only the options of a webhook ask for. */
const FURTHER = [
  {
    name: 'Agent Changed',
    value: 'agent_changed',
    description: 'An agent of a queue is available, busy, paused or gone',
  },
  { name: 'Call Held', value: 'call_held', description: 'One party put the other on hold' },
  { name: 'Call Missed', value: 'call_missed', description: 'None of your own people answered a call' },
  { name: 'Call Resumed', value: 'call_resumed', description: 'One party took the other off hold' },
  { name: 'Custom', value: 'custom', description: 'The dialplan says something of its own' },
  { name: 'Phone Changed', value: 'phone_changed', description: 'A phone registered or is gone, rings or is in use' },
  {
    name: 'Queue Changed',
    value: 'queue_changed',
    description: 'Those who wait in a queue, or its agents, have changed',
  },
  { name: 'Recording Saved', value: 'recording_saved', description: 'A recording of the call is complete' },
  { name: 'Trunk Changed', value: 'trunk_changed', description: 'A trunk is registered, rejected or unreachable' },
]

type Answer = { readonly statusCode: number; readonly body: { readonly message?: string; readonly result: unknown } }

/** Starts a workflow for each call event of Hookswitch. Its webhook is in the list of Hookswitch while it is active. */
export class HookswitchTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Hookswitch Trigger',
    name: 'hookswitchTrigger',
    icon: { light: 'file:hookswitch.svg', dark: 'file:hookswitch.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["events"].join(", ")}}',
    description: 'Starts the workflow for each call event of an Asterisk or FreeSWITCH phone system',
    defaults: { name: 'Hookswitch Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'hookswitchApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
    properties: [
      {
        displayName: 'Events',
        name: 'events',
        type: 'multiOptions',
        required: true,
        default: ['call_started', 'call_ended'],
        options: [...SWITCHES, ...FURTHER].sort((one, other) => one.name.localeCompare(other.name)),
        description: 'Which events start the workflow. Each has the whole call as it is at that moment.',
      },
    ],
  }

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl('default') ?? ''
        const { secret, events } = this.getWorkflowStaticData('node')
        const { body } = await ask(this, 'GET', '/integration/webhook')
        const isListed = (body.result as { url: string }[]).some((webhook) => webhook.url === url)
        return isListed && typeof secret === 'string' && events === wanted(this).join()
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl('default') ?? ''
        const events = wanted(this)
        const switches = Object.fromEntries(SWITCHES.map(({ value }) => [value, events.includes(value)]))
        const add = () => ask(this, 'POST', '/integration/webhook/item', { url, ...switches }, [409])
        // It is there from a time when n8n could not remove it: its switches may be others.
        if ((await add()).statusCode === 409) {
          await remove(this, url)
          await add()
        }
        const further = FURTHER.map(({ value }) => value).filter((value) => events.includes(value))
        const name = `n8n: ${this.getWorkflow().name ?? ''}`.slice(0, 100)
        await ask(this, 'PUT', '/integration/webhook/options', { url, name, events: further })
        const secrets = (await ask(this, 'GET', '/integration/webhook/secret')).body.result
        const secret = (secrets as { url: string; secret: string }[]).find((one) => one.url === url)?.secret
        Object.assign(this.getWorkflowStaticData('node'), { secret, events: events.join() })
        return secret !== undefined
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        await remove(this, this.getNodeWebhookUrl('default') ?? '')
        const data = this.getWorkflowStaticData('node')
        delete data.secret
        delete data.events
        return true
      },
    },
  }

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const request = this.getRequestObject()
    const { secret } = this.getWorkflowStaticData('node')
    if (request.rawBody === undefined) await request.readRawBody()
    const fault =
      typeof secret === 'string'
        ? faultOf(secret, this.getHeaderData() as IDataObject as never, request.rawBody, Date.now() / 1_000)
        : 'The workflow has no secret: activate it again.'
    if (fault !== undefined) {
      this.getResponseObject().status(401).json({ message: fault })
      return { noWebhookResponse: true }
    }
    return { workflowData: [this.helpers.returnJsonArray(this.getBodyData())] }
  }
}

const wanted = (hook: IHookFunctions): string[] => [...(hook.getNodeParameter('events', []) as string[])].sort()

/** Removes a webhook from the list; it may be gone already. */
async function remove(hook: IHookFunctions, url: string): Promise<void> {
  await ask(hook, 'DELETE', `/integration/webhook/item?url=${encodeURIComponent(url)}`, undefined, [404])
}

/** Asks the API. @throws NodeApiError with the API's own words for a status beyond 299 that is not `expected`. */
async function ask(
  hook: IHookFunctions,
  method: IHttpRequestMethods,
  path: string,
  body?: IDataObject,
  expected: readonly number[] = [],
): Promise<Answer> {
  const { baseUrl } = await hook.getCredentials<{ baseUrl: string }>('hookswitchApi')
  const answer: Answer = await hook.helpers.httpRequestWithAuthentication.call(hook, 'hookswitchApi', {
    method,
    url: `${baseUrl.replace(/\/+$/, '')}${path}`,
    json: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    ...(body === undefined ? {} : { body }),
  })
  if (answer.statusCode < 300 || expected.includes(answer.statusCode)) return answer
  throw new NodeApiError(hook.getNode(), answer.body as JsonObject, {
    message: `Hookswitch answers ${answer.statusCode}: ${answer.body?.message ?? 'nothing more'}`,
    httpCode: String(answer.statusCode),
  })
}
