import type { AnyElysia } from 'elysia'
import type { Store } from '../store/store.ts'
import type { Access } from './access.ts'
import { auditRoutes } from './audit-routes.ts'
import { peopleRoutes } from './people-routes.ts'

type Parts = {
  readonly store: Pick<Store, 'audit'>
  /** Returns the address of the service that links to this client begin with. */
  readonly linkBase: (request: Request) => string | undefined
}

/** Creates the routes of accounts, users and the audit trail. */
export const accessApi = ({ auth, people, audit }: Access, { store, linkBase }: Parts): AnyElysia[] => [
  peopleRoutes({ auth, people, audit, linkBase }),
  auditRoutes(auth, store.audit),
]
