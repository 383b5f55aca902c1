import { registryOf, serveWriter } from './db/writer.ts'

declare const self: Worker

// Every file that exports mutations is named here: the thread finds them by name.
serveWriter(registryOf([]), self)
