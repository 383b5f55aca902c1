import { serveFileSync } from '../store/sqlite/engine/file-sync.ts'

declare const self: Worker

serveFileSync(self)
