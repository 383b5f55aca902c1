import api from './api.md' with { type: 'text' }
import calls from './calls.md' with { type: 'text' }
import clickToCall from './click-to-call.md' with { type: 'text' }
import cluster from './cluster.md' with { type: 'text' }
import connect from './connect.md' with { type: 'text' }
import contacts from './contacts.md' with { type: 'text' }
import crm from './crm.md' with { type: 'text' }
import deploy from './deploy.md' with { type: 'text' }
import events from './events.md' with { type: 'text' }
import flows from './flows.md' with { type: 'text' }
import mqtt from './mqtt.md' with { type: 'text' }
import operate from './operate.md' with { type: 'text' }
import people from './people.md' with { type: 'text' }
import performance from './performance.md' with { type: 'text' }
import presets from './presets.md' with { type: 'text' }
import questions from './questions.md' with { type: 'text' }
import receive from './receive.md' with { type: 'text' }
import recordings from './recordings.md' with { type: 'text' }
import settings from './settings.md' with { type: 'text' }
import webhooks from './webhooks.md' with { type: 'text' }

/** A guide of this folder: its file has its name, and its first line its title. */
export type Guide = { readonly name: string; readonly title: string; readonly text: string }

/** All guides, in the order in which a new user needs them. They are part of the executable. */
export const GUIDES: readonly Guide[] = Object.entries({
  connect,
  calls,
  events,
  receive,
  webhooks,
  mqtt,
  crm,
  contacts,
  'click-to-call': clickToCall,
  flows,
  presets,
  recordings,
  api,
  people,
  settings,
  deploy,
  cluster,
  operate,
  performance,
  questions,
}).map(([name, text]) => ({ name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text }))
