import type { Access } from '../../auth/auth.ts'
import { createPbxService } from './pbx-service.ts'
import { pbxRoutes } from './routes.ts'

/** Creates the routes of PBXs, and the service behind them. */
export function pbxApi({ auth, audit }: Access, parts: Parameters<typeof createPbxService>[0]) {
  const pbxs = createPbxService(parts)
  return { routes: pbxRoutes({ auth, pbxs, audit }), pbxs }
}
