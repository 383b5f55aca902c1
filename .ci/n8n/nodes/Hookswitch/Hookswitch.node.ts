import { type INodeType, type INodeTypeDescription, NodeConnectionTypes } from 'n8n-workflow'

/** The result of the API, without its envelope. */
const RESULT = { postReceive: [{ type: 'rootProperty' as const, properties: { property: 'result' } }] }

/** Has calls made, and hangs them up. The token of the credentials needs the right to calls. */
export class Hookswitch implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Hookswitch',
    name: 'hookswitch',
    icon: { light: 'file:hookswitch.svg', dark: 'file:hookswitch.dark.svg' },
    group: ['output'],
    version: 1,
    subtitle: '={{$parameter["operation"]}}',
    description: 'Makes and hangs up calls on an Asterisk or FreeSWITCH phone system',
    defaults: { name: 'Hookswitch' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'hookswitchApi', required: true }],
    requestDefaults: {
      baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    },
    properties: [
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        default: 'make',
        options: [
          {
            name: 'Hang Up a Call',
            value: 'hangUp',
            action: 'Hang up a call',
            description: 'End a call that is up',
            routing: { request: { method: 'DELETE', url: '=/call/{{$parameter["callId"]}}' }, output: RESULT },
          },
          {
            name: 'Make a Call',
            value: 'make',
            action: 'Make a call',
            description: 'Ring a phone, and dial a number when it is answered',
            routing: { request: { method: 'POST', url: '/call' }, output: RESULT },
          },
        ],
      },
      {
        displayName: 'From',
        name: 'from',
        type: 'string',
        required: true,
        default: '',
        placeholder: 'e.g. 101',
        description: 'The extension whose phone rings',
        displayOptions: { show: { operation: ['make'] } },
        routing: { send: { type: 'body', property: 'from' } },
      },
      {
        displayName: 'To',
        name: 'to',
        type: 'string',
        required: true,
        default: '',
        placeholder: 'e.g. +4930123456',
        description: 'The number that is dialled when the phone is answered',
        displayOptions: { show: { operation: ['make'] } },
        routing: { send: { type: 'body', property: 'to' } },
      },
      {
        displayName: 'Additional Fields',
        name: 'additionalFields',
        type: 'collection',
        placeholder: 'Add Field',
        default: {},
        displayOptions: { show: { operation: ['make'] } },
        options: [
          {
            displayName: 'Name',
            name: 'name',
            type: 'string',
            default: '',
            description: 'What the phone shows beside the number',
            routing: { send: { type: 'body', property: 'name' } },
          },
          {
            displayName: 'PBX',
            name: 'pbx',
            type: 'string',
            default: '',
            description: 'The name of the PBX, if several have the extension',
            routing: { send: { type: 'body', property: 'pbx' } },
          },
        ],
      },
      {
        displayName: 'Call ID',
        name: 'callId',
        type: 'string',
        required: true,
        default: '',
        description: 'The ID of the call: call_id of Make a Call, or data.call.id of an event',
        displayOptions: { show: { operation: ['hangUp'] } },
      },
    ],
  }
}
