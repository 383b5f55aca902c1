import { serveTemplates } from '../webhooks/templates/thread.ts'

declare const self: Worker

serveTemplates(self)
