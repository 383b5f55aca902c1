import { serveTemplates } from '../templates/thread.ts'

declare const self: Worker

serveTemplates(self)
